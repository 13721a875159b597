// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	schedulerLabel = "app.kubernetes.io/name=tessera-scheduler"
	schedulerFiles = "rbac kube-scheduler deployment" // in deploy/scheduler
)

// startShares gives the node GPUs, an agent that shares them as pods ask, and the scheduler that
// places those pods.
func (c *cluster) startShares(t *testing.T) *hami {
	t.Helper()
	return c.startSharesWith(t, func(manifest) {})
}

// startSharesWith does the same with an edit of the scheduler's manifests.
func (c *cluster) startSharesWith(t *testing.T, change func(manifest)) *hami {
	t.Helper()
	makeGPUs(t)
	c.installRequested(t, "")
	return c.startSchedulerWith(t, 8, change)
}

// startScheduler waits until the plugin has registered this many GPUs, applies deploy/scheduler as
// shipped, and waits until the Deployment is available. The test's end removes it.
func (c *cluster) startScheduler(t *testing.T, count int) *hami {
	t.Helper()
	return c.startSchedulerWith(t, count, func(manifest) {})
}

// startSchedulerWith does the same with an edit of the manifests.
func (c *cluster) startSchedulerWith(t *testing.T, count int, change func(manifest)) *hami {
	t.Helper()
	h := c.startReading(t, count)
	for _, name := range strings.Fields(schedulerFiles) {
		for _, m := range c.readManifests(t, "scheduler/"+name+".yaml") {
			change(m)
			t.Cleanup(func() { must(t, m.delete(context.Background())) })
			m.apply(t)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			c.showSchedulerLogs(t)
		}
	})
	c.waitForScheduler(t)
	return h
}

// waitForScheduler waits until all replicas are available.
func (c *cluster) waitForScheduler(t *testing.T) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		found, err := c.client.AppsV1().Deployments(agentNamespace).Get(ctx, "tessera-scheduler", metav1.GetOptions{})
		if err != nil {
			return err
		}
		now := found.Status
		if now.ObservedGeneration != found.Generation || now.AvailableReplicas != *found.Spec.Replicas {
			return fmt.Errorf("%d of %d replicas of tessera-scheduler are available: %s", now.AvailableReplicas,
				*found.Spec.Replicas, c.describeScheduler(ctx))
		}
		return nil
	})
}

func (c *cluster) schedulerPods(ctx context.Context) ([]v1.Pod, error) {
	list, err := c.client.CoreV1().Pods(agentNamespace).List(ctx, metav1.ListOptions{LabelSelector: schedulerLabel})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// describeScheduler joins the descriptions of the scheduler's pods.
func (c *cluster) describeScheduler(ctx context.Context) string {
	pods, err := c.schedulerPods(ctx)
	if err != nil {
		return err.Error()
	}
	var said []string
	for _, pod := range pods {
		said = append(said, describe(&pod))
	}
	return strings.Join(said, "; ")
}

func (c *cluster) showSchedulerLogs(t *testing.T) {
	pods, err := c.schedulerPods(context.Background())
	if err != nil {
		t.Log(err)
	}
	for _, pod := range pods {
		for _, container := range pod.Spec.Containers {
			content, err := c.client.CoreV1().Pods(agentNamespace).
				GetLogs(pod.Name, &v1.PodLogOptions{Container: container.Name}).DoRaw(context.Background())
			t.Logf("the log of %s of %s: %v\n%s", container.Name, pod.Name, err, content)
		}
	}
}

func TestTheSchedulerPlacesAPodThatAsksForMemory(t *testing.T) {
	c := theCluster(t)
	c.configureKubelet(t, "crashLoopBackOff: {maxContainerRestartPeriod: 1s}\n")
	h := c.startShares(t)

	pod := c.createAsking(t, podAsking("placed", containerAsking("main", asked{count: 1, memory: 3000}, stay)))
	now, err := h.waitFor(t.Context(), pod, func(now *v1.Pod) bool { return now.Status.Phase == v1.PodRunning })
	must(t, err)

	equal(t, "the node", now.Annotations[vgpuNodeKey], nodeName)
	equal(t, "the label", now.Labels[vgpuNodeKey], nodeName)
	h.expectSaid(t, pod.UID, "main", 1)
	b, pods := c.newBurstsWith(t, h, 15, 30)
	must(t, b.run(t.Context(), pods))
	b.expectNoneWrong(t, "bursts of pods that tessera-scheduler places")
	c.compareAllTimes(t, h, ", placed by tessera-scheduler")
}

func TestTheSchedulerSaysWhyAPodHasNoPlace(t *testing.T) {
	c := theCluster(t)
	c.startShares(t)

	pod := c.createAsking(t, podAsking("large", containerAsking("main", asked{count: 1, memory: 90000}, stay)))

	said := c.waitForUnschedulable(t, pod.Name)
	if !strings.Contains(said, "1 devices have less in all than a container asks for") {
		t.Error(said)
	}
}
