// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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

// processOf is the one process of a pod that was started by a name, and words after it.
func processOf(t *testing.T, pod v1.Pod, name string, words ...string) int {
	t.Helper()
	found := slices.DeleteFunc(processesNamed(t, name, words...), func(id int) bool {
		groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", id))
		return err != nil || !strings.Contains(string(groups), "pod"+string(pod.UID))
	})
	equal(t, "processes "+name+" of "+pod.Name, len(found), 1)
	return found[0]
}

func extenderOf(t *testing.T, pod v1.Pod) int {
	t.Helper()
	return processOf(t, pod, "/usr/bin/tessera-scheduler")
}

func kubeSchedulerOf(t *testing.T, pod v1.Pod) int {
	t.Helper()
	return processOf(t, pod, "kube-scheduler", "--config=/etc/tessera/kube-scheduler.yaml")
}

// placeAll creates pods that take all that there is. Most come at once: when a quarter of all is bound there
// is trouble, and the others come after that. In the end each of them runs with what was chosen for it,
// which was free, and the scheduler is ready once more.
func (c *cluster) placeAll(t *testing.T, trouble func(leader v1.Pod)) {
	t.Helper()
	h := c.startScheduler(t, 8)
	leader := c.leader(t)
	all := 4 * len(h.cards)
	var pods []*v1.Pod
	create := func(count int) {
		made := make(chan *v1.Pod, count)
		for n := range count {
			pod := podAsking(fmt.Sprintf("quarter-%d", len(pods)+n),
				containerAsking("main", asked{count: 1, percentage: 25, cores: 25}, stay))
			go func() {
				pod, err := c.pods().Create(t.Context(), pod, metav1.CreateOptions{})
				if err != nil {
					t.Error(err)
				}
				made <- pod
			}()
		}
		for range count {
			pods = append(pods, <-made)
		}
		if t.Failed() {
			t.FailNow()
		}
	}

	create(all - len(h.cards))
	eventually(t, func(context.Context) error {
		if bound := h.boundOf(pods); bound < len(h.cards) {
			return fmt.Errorf("%d pods are bound", bound)
		}
		return nil
	})
	begun, bound := time.Now(), h.boundOf(pods)
	trouble(leader)
	lasted := time.Since(begun)
	create(len(h.cards))

	for _, pod := range pods {
		now, err := h.waitFor(t.Context(), pod, func(now *v1.Pod) bool {
			return now.Status.Phase == v1.PodRunning || now.Status.Phase == v1.PodFailed
		})
		must(t, err)
		if now.Status.Phase == v1.PodFailed {
			t.Fatalf("pod %s has failed: %s", pod.Name, describe(now))
		}
		h.expectSaid(t, pod.UID, "main", 1)
	}
	h.expectNoFailures(t)
	c.waitForScheduler(t)
	fmt.Printf("measured a burst with trouble: it came when %d of %d pods were bound and lasted %.1f s; %.1f s "+
		"later all ran, and the scheduler was ready\n", bound, len(pods), lasted.Seconds(),
		(time.Since(begun) - lasted).Seconds())
}

func TestTheSchedulersOtherReplicaGoesOnWhereTheLeaderIsDeletedInABurst(t *testing.T) {
	c := theCluster(t)
	makeGPUs(t)
	c.installRequested(t, "")
	var former v1.Pod

	c.placeAll(t, func(leader v1.Pod) {
		former = leader
		must(t, c.client.CoreV1().Pods(agentNamespace).Delete(t.Context(), leader.Name, metav1.DeleteOptions{}))
	})

	if now := c.leader(t); now.UID == former.UID {
		t.Errorf("%s still leads", now.Name)
	}
}

func TestAllPodsOfABurstRunWhereTheLeadersExtenderIsKilled(t *testing.T) {
	c := theCluster(t)
	makeGPUs(t)
	c.installRequested(t, "")

	c.placeAll(t, func(leader v1.Pod) { must(t, syscall.Kill(extenderOf(t, leader), syscall.SIGKILL)) })
}

// Its Lease goes to whoever is there when it has run out: to the other replica, or to its successor in the
// same pod, whose extender has led all the time.
func TestAllPodsOfABurstRunWhereTheLeadersKubeSchedulerIsKilled(t *testing.T) {
	c := theCluster(t)
	makeGPUs(t)
	c.installRequested(t, "")

	c.placeAll(t, func(leader v1.Pod) { must(t, syscall.Kill(kubeSchedulerOf(t, leader), syscall.SIGKILL)) })
}

// What was sent to the API server when it stopped may be done when it goes on, long after the leader has
// given its Lease up.
func TestAllPodsOfABurstRunWhereTheAPIServerStopsUntilTheLeaderHasGivenUp(t *testing.T) {
	c := theCluster(t)
	makeGPUs(t)
	c.installRequested(t, "")
	server := c.processes["kube-apiserver"].command.Process
	t.Cleanup(func() { must(t, server.Signal(syscall.SIGCONT)) })

	c.placeAll(t, func(leader v1.Pod) {
		leads := kubeSchedulerOf(t, leader)
		must(t, server.Signal(syscall.SIGSTOP))
		eventually(t, func(context.Context) error {
			if err := syscall.Kill(leads, 0); !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("%s still leads: %v", leader.Name, err)
			}
			return nil
		})
		must(t, server.Signal(syscall.SIGCONT))
	})
}

// Whatever was asked for has an outcome that nobody knows.
func TestAllPodsOfABurstRunWhereTheAPIServerIsKilledAndStartsAgain(t *testing.T) {
	c := theCluster(t)
	makeGPUs(t)
	c.installRequested(t, "")

	c.placeAll(t, func(v1.Pod) {
		c.processes["kube-apiserver"].end(syscall.SIGKILL)
		must(t, c.startAPIServer())
	})
}
