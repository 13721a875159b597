// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	schedulerLabel = "app.kubernetes.io/name=tessera-scheduler"
	schedulerFiles = "rbac kube-scheduler deployment" // of deploy/scheduler
)

// startScheduler applies deploy/scheduler as it ships, once the plugin has registered its GPUs, and waits
// until the Deployment is available. It goes with the test, after the pods that it placed.
func (c *cluster) startScheduler(t *testing.T, count int) *hami {
	t.Helper()
	h := c.startReading(t, count)
	for _, name := range strings.Fields(schedulerFiles) {
		for _, m := range c.readManifests(t, "scheduler/"+name+".yaml") {
			t.Cleanup(func() { must(t, m.delete(context.Background())) })
			m.apply(t)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			c.showSchedulerLogs(t)
		}
	})
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
	return h
}

func (c *cluster) schedulerPods(ctx context.Context) ([]v1.Pod, error) {
	list, err := c.client.CoreV1().Pods(agentNamespace).List(ctx, metav1.ListOptions{LabelSelector: schedulerLabel})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// describeScheduler says what keeps its pods.
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

// decode reads what was chosen for a pod from its annotation.
func (h *hami) decode(pod *v1.Pod) (placement, error) {
	chosen := placement{parts: map[string][]part{}, allocated: pod.Annotations[allocatedKey]}
	var entries []string
	for _, entry := range strings.Split(chosen.allocated, ";") {
		if entry != "" {
			entries = append(entries, entry)
		}
	}
	for _, container := range containersOf(pod) {
		if askedBy(container).count == 0 {
			continue
		}
		if len(entries) == 0 {
			return chosen, errors.New("a container has no entry")
		}
		for _, device := range strings.Split(strings.TrimSuffix(entries[0], ":"), ":") {
			words := strings.Split(device, ",")
			n := slices.IndexFunc(h.cards, func(one card) bool { return one.ID == words[0] })
			if n < 0 || len(words) != 4 {
				return chosen, fmt.Errorf("%q is no part of a GPU of this node", device)
			}
			memory, err := strconv.ParseInt(words[2], 10, 64)
			cores, more := strconv.ParseInt(words[3], 10, 64)
			if err := errors.Join(err, more); err != nil {
				return chosen, err
			}
			chosen.parts[container.Name] = append(chosen.parts[container.Name], part{h.cards[n], memory, cores})
		}
		entries = entries[1:]
	}
	return chosen, nil
}

func TestTheSchedulerPlacesAPodThatAsksForMemory(t *testing.T) {
	c := theCluster(t)
	c.configureKubelet(t, "crashLoopBackOff: {maxContainerRestartPeriod: 1s}\n")
	makeGPUs(t)
	c.installRequested(t, "")
	h := c.startScheduler(t, 8)

	pod := c.createAsking(t, podAsking("placed", containerAsking("main", asked{count: 1, memory: 3000}, stay)))
	now, err := h.waitFor(t.Context(), pod, func(now *v1.Pod) bool { return now.Status.Phase == v1.PodRunning })
	must(t, err)

	equal(t, "the node", now.Annotations[vgpuNodeKey], nodeName)
	equal(t, "the label", now.Labels[vgpuNodeKey], nodeName)
	h.expectSaid(t, pod.UID, "main", 1)
	b, pods := c.newBurstsWith(t, h, 15, 30)
	must(t, b.run(t.Context(), pods))
	b.expectNoneWrong(t, "bursts of pods that tessera-scheduler places")
	c.compareTimes(t, h, fmt.Sprintf("a burst of %d pods that tessera-scheduler places", burstSize), burstSize, 1)
}

func TestTheSchedulerSaysWhyAPodHasNoPlace(t *testing.T) {
	c := theCluster(t)
	makeGPUs(t)
	c.installRequested(t, "")
	c.startScheduler(t, 8)

	pod := c.createAsking(t, podAsking("large", containerAsking("main", asked{count: 1, memory: 90000}, stay)))

	eventually(t, func(ctx context.Context) error {
		now, err := c.pods().Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range now.Status.Conditions {
			if condition.Type == v1.PodScheduled && condition.Reason == v1.PodReasonUnschedulable &&
				strings.Contains(condition.Message, "1 devices have less in all than a container asks for") {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %v", now.Status.Conditions)
	})
}

// leader waits until the kube-scheduler of a pod that is not going holds the Lease, and returns that pod.
func (c *cluster) leader(t *testing.T) (leader v1.Pod) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		lease, err := c.client.CoordinationV1().Leases(agentNamespace).Get(ctx, hamisName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		pods, err := c.schedulerPods(ctx)
		for _, pod := range pods {
			holder := lease.Spec.HolderIdentity
			if holder != nil && strings.HasPrefix(*holder, pod.Name+"_") && pod.DeletionTimestamp == nil {
				leader = pod
				return nil
			}
		}
		return errors.Join(fmt.Errorf("none of %d pods holds the Lease: %v", len(pods), lease.Spec), err)
	})
	return leader
}

// expectRoom adds up what was chosen for the pods.
func (h *hami) expectRoom(t *testing.T, pods []*v1.Pod) {
	t.Helper()
	taken := map[string]room{}
	for _, pod := range pods {
		for _, parts := range h.placementOf(pod.UID).parts {
			for _, one := range parts {
				taken[one.card.ID] = taken[one.card.ID].plus(one.takes())
			}
		}
	}
	all := room{}
	for _, one := range h.cards {
		now := taken[one.ID]
		all = all.plus(now)
		if now.slots > one.Count || now.memory > one.Memory || now.cores > one.Cores {
			t.Errorf("of %v are taken %v", one, now)
		}
	}
	equal(t, "parts in all", all.slots, int64(len(pods)))
}

func TestTheSchedulersOtherReplicaGoesOnWhereTheLeaderIsDeletedInABurst(t *testing.T) {
	c := theCluster(t)
	makeGPUs(t)
	c.installRequested(t, "")
	h := c.startScheduler(t, 8)
	leader := c.leader(t)
	var pods []*v1.Pod
	for n := range 4 * len(h.cards) { // which take all that there is
		quarter := asked{count: 1, percentage: 25, cores: 25}
		pods = append(pods, c.createAsking(t, podAsking(fmt.Sprintf("taken-over-%d", n),
			containerAsking("main", quarter, stay))))
		if n == len(h.cards) {
			must(t, c.client.CoreV1().Pods(agentNamespace).Delete(t.Context(), leader.Name, metav1.DeleteOptions{}))
		}
	}

	for _, pod := range pods {
		_, err := h.waitFor(t.Context(), pod, func(now *v1.Pod) bool { return now.Status.Phase == v1.PodRunning })
		must(t, err)
	}

	h.expectRoom(t, pods)
	if now := c.leader(t); now.UID == leader.UID {
		t.Errorf("%s still leads", now.Name)
	}
}
