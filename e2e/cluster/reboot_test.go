// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	replicas = 8 // of 8 NPUs each: all devices of the node

	printIDsAndBoot = `echo "$DUMMY_VISIBLE_DEVICES $(cat /proc/sys/kernel/random/boot_id)"; `
)

// startDeployment runs pods that hold all devices. Their controller replaces refused ones.
func (c *cluster) startDeployment(t *testing.T) {
	t.Helper()
	c.deploy(t, replicas, podOf("", 64/replicas, printIDsAndBoot+stay))
}

// deploy creates a Deployment of this many pods. The test's end deletes it.
func (c *cluster) deploy(t *testing.T, count int32, template *v1.Pod) {
	t.Helper()
	labels := map[string]string{"app": "holders"}
	template.Spec.RestartPolicy = v1.RestartPolicyAlways
	deployments := c.client.AppsV1().Deployments(metav1.NamespaceDefault)
	_, err := deployments.Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "holders"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &count,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: template.Spec},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		must(t, deployments.Delete(context.Background(), "holders", metav1.DeleteOptions{}))
	})
}

// scale changes the number of the Deployment's pods.
func (c *cluster) scale(t *testing.T, count int) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, count)
	_, err := c.client.AppsV1().Deployments(metav1.NamespaceDefault).Patch(t.Context(), "holders",
		types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	must(t, err)
}

// waitForDeployment waits until all pods have started since the boot and hold all devices together.
// It returns the devices of each pod, and kubelet's messages to pods that it refused.
func (c *cluster) waitForDeployment(t *testing.T) (given map[string][]string, refused []string) {
	t.Helper()
	content, err := os.ReadFile(bootIDOfKernel)
	must(t, err)
	boot := strings.TrimSpace(string(content))
	eventuallyAll(t, func(ctx context.Context) (int, error) {
		list, err := c.pods().List(ctx, metav1.ListOptions{LabelSelector: "app=holders"})
		if err != nil {
			return 0, err
		}
		given, refused = map[string][]string{}, nil
		var all []string
		for _, pod := range list.Items {
			if pod.Status.Phase == v1.PodFailed {
				refused = append(refused, pod.Status.Message)
				continue
			}
			log, failed := c.pods().GetLogs(pod.Name, &v1.PodLogOptions{}).DoRaw(ctx)
			ids, of, _ := strings.Cut(strings.TrimSpace(string(log)), " ")
			if failed != nil || of != boot {
				err = fmt.Errorf("pod %s has not started since the boot: %v", pod.Name, failed)
				continue
			}
			given[pod.Name] = byNumber(listed(ids))
			all = append(all, given[pod.Name]...)
		}
		if err == nil && !reflect.DeepEqual(byNumber(all), numbers(0, 63)) {
			err = fmt.Errorf("devices are held like this: %v", given)
		}
		return len(given), err
	})
	return given, refused
}

func TestABootWithTheAgentInAContainerRefusesPodsAndTheirReplacementsRun(t *testing.T) {
	c := theCluster(t)
	c.installAgent(t, nil)
	c.waitForDevices(t, "64 of 64")
	c.startDeployment(t)
	before, _ := c.waitForDeployment(t)

	must(t, c.boot(func() error { return nil }))

	after, refused := c.waitForDeployment(t)
	fmt.Printf("measured a boot with the agent in a container: %d of %d pods were refused\n",
		len(refused), replicas)
	expectInTheGap(t, refused)
	for name, ids := range after {
		if former := before[name]; former != nil {
			equal(t, "devices of a pod that was there before", ids, former)
		}
	}
}

// As under systemd, kubelet starts once the service is ready, and then reads its pods while the
// agent registers. The two race, and a busy machine may run kubelet first. So the test only needs
// one boot of several that refuses no pod.
func TestABootWithTheAgentAsAServiceOfTheHostRefusesNoPod(t *testing.T) {
	c := theCluster(t)
	s := c.installService(t)
	c.waitForDevices(t, "64 of 64")
	c.startDeployment(t)
	before, _ := c.waitForDeployment(t)

	const boots = 5
	former := 0 // pods that earlier boots refused
	for range boots {
		must(t, c.boot(s.start))

		after, refused := c.waitForDeployment(t)
		if len(refused) == former {
			equal(t, "devices of every pod", after, before)
			return
		}
		fmt.Printf("measured a boot with the agent as a service: %d of %d pods were refused\n",
			len(refused)-former, replicas)
		expectInTheGap(t, refused)
		before, former = after, len(refused)
	}
	t.Errorf("each of %d boots refused pods, %d in all", boots, former)
}
