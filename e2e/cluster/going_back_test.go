// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const uninstallSelector = "app.kubernetes.io/name=tessera-uninstall"

// onFakeDriver points the agent of deploy/hami, or its uninstall Job, at the test's driver. The
// driver has a root of its own, as if it ran in a container. Everything else stays as shipped.
func onFakeDriver(t *testing.T) func(manifest) {
	return func(m manifest) {
		t.Helper()
		switch m.object.GetKind() {
		case "ConfigMap":
			text, _, err := unstructured.NestedString(m.object.Object, "data", "tessera.yaml")
			must(t, err)
			shipped := regexp.MustCompile(`driverRoot: /driver-root(\n *)hostDriverRoot: /`)
			changed := shipped.ReplaceAllString(text,
				"driverRoot: "+nvidiaRoot+"${1}devRoot: "+nvidiaRoot+"${1}cdiLeaveOut: [hooks]")
			equal(t, "the driver's root is given", changed != text, true)
			must(t, unstructured.SetNestedField(m.object.Object, changed, "data", "tessera.yaml"))
		case "DaemonSet":
			mountDirectory(t, m.object, nvidiaRoot)
		}
	}
}

// uninstall applies deploy/hami/uninstall.yaml for the node, as docs/how-to/from-hami.md says. It
// waits for the end of its first pod and returns that pod's log and success. It deletes the Job.
func (c *cluster) uninstall(t *testing.T) (said string, succeeded bool) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(deployDirectory, "hami/uninstall.yaml"))
	must(t, err)
	lines := strings.Split(string(content), "\n")
	for n, line := range lines { // the sed command of the how-to page
		if before, found := strings.CutSuffix(line, "NODE"); found {
			lines[n] = before + nodeName
		}
	}
	job := c.parseManifests(t, []byte(strings.Join(lines, "\n")))[0]
	job.apply(t)
	eventually(t, func(ctx context.Context) error {
		pods, err := c.client.CoreV1().Pods(agentNamespace).List(ctx, metav1.ListOptions{LabelSelector: uninstallSelector})
		if err != nil {
			return err
		}
		for _, pod := range pods.Items {
			if pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed {
				continue
			}
			log, err := c.client.CoreV1().Pods(agentNamespace).GetLogs(pod.Name, &v1.PodLogOptions{}).DoRaw(ctx)
			said, succeeded = string(log), pod.Status.Phase == v1.PodSucceeded
			return err
		}
		return errors.New("no pod of the Job has ended")
	})
	must(t, job.delete(context.Background()))
	return said, succeeded
}

// grantDocuments returns the CDI documents of grants.
func grantDocuments(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("/var/run/cdi/*")
	must(t, err)
	return found
}

func TestANodeMovesToTheAgentAndBackToHAMiByTheManifestsThatShip(t *testing.T) {
	c := theCluster(t)
	driver := makeGPUs(t)
	former := c.startFormer(t, driver)
	t.Cleanup(func() {
		must(t, c.removePods(context.Background()))
		must(t, os.RemoveAll(hookDirectory))
		must(t, os.RemoveAll("/var/run/cdi"))
	})
	size := asked{count: 1, memory: 3000, cores: 30}
	hamis := c.createAsking(t, podAsking("hamis", containerAsking("main", size, stay)))
	waitForSaid(t, hamis.UID, "main", 1)
	hamis = c.waitForPhase(t, hamis.Name, v1.PodRunning)

	former.stop()
	c.labelNode(t, "gpu", "on")
	c.labelNode(t, "tessera.dev/plugin", "tessera")
	manifests := append(c.readManifests(t, agentPolicies), c.readManifests(t, "hami/policy.yaml")...)
	manifests = append(manifests, c.readManifests(t, "hami/rbac.yaml")...)
	c.install(t, onFakeDriver(t), append(manifests, c.readManifests(t, "hami/daemonset.yaml")...)...)
	c.waitForResource(t, gpu, "80 of 80")
	ours := c.createAsking(t, podAsking("ours", containerAsking("main", size, stay)))
	finds := waitForSaid(t, ours.UID, "main", 1)[0]
	equal(t, "our pod's share: "+finds, strings.Contains(finds, "CUDA_DEVICE_MEMORY_LIMIT_0=3000m\n"), true)
	ours = c.waitForPhase(t, ours.Name, v1.PodRunning)
	equal(t, "the life of HAMi's pod", lifeOf(c.pod(t, hamis.Name)), lifeOf(hamis))

	c.changeNode(t, "labels", map[string]any{"tessera.dev/plugin": nil})
	eventually(t, func(ctx context.Context) error {
		pods, err := c.agentPods(ctx)
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("%d agents are still there", len(pods))
		}
		return err
	})
	said, succeeded := c.uninstall(t)
	equal(t, "whether a share that is held is taken away", succeeded, false)
	equal(t, "what the Job names", strings.Contains(said, "container main of pod "+string(ours.UID)), true)
	equal(t, "CDI documents are left", len(grantDocuments(t)) > 0, true)
	equal(t, "the life of our pod", lifeOf(c.pod(t, ours.Name)), lifeOf(ours))

	must(t, c.boot(func() error { return nil }))
	eventually(t, func(ctx context.Context) error {
		pod, err := c.pods().Get(ctx, ours.Name, metav1.GetOptions{})
		if err == nil && describe(pod) == "" {
			err = errors.New("kubelet has not tried the pod since the boot")
		}
		if err == nil {
			fmt.Printf("measured what becomes of a pod that was left out, by a boot: %s: %s\n", pod.Status.Phase, describe(pod))
		}
		return err
	})
	must(t, c.removePods(t.Context()))
	said, succeeded = c.uninstall(t)
	equal(t, "whether the Job succeeds: "+said, succeeded, true)
	equal(t, "CDI documents", len(grantDocuments(t)), 0)
	directories, err := filepath.Glob(hookDirectory + "/containers/" + string(ours.UID) + "*")
	must(t, err)
	equal(t, "directories of our pod", len(directories), 0)
	node, err := c.node(t.Context())
	must(t, err)
	equal(t, "what HAMi's scheduler knows of the node", node.Annotations[registerKey], "")

	c.registerFormer(t, driver)
	former.serve(t, c)
	again := c.createAsking(t, podAsking("again", containerAsking("main", size, stay)))
	waitForSaid(t, again.UID, "main", 1)
	c.waitForPhase(t, again.Name, v1.PodRunning)
}
