// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leader waits until the Lease belongs to the kube-scheduler of a pod that is not being deleted,
// and returns that pod.
func (c *cluster) leader(t *testing.T) (leader v1.Pod) {
	t.Helper()
	eventually(t, func(ctx context.Context) (err error) {
		leader, err = c.leaderNow(ctx)
		return err
	})
	return leader
}

func (c *cluster) leaderNow(ctx context.Context) (leader v1.Pod, err error) {
	lease, err := c.client.CoordinationV1().Leases(agentNamespace).Get(ctx, hamisName, metav1.GetOptions{})
	if err != nil {
		return leader, err
	}
	pods, err := c.schedulerPods(ctx)
	for _, pod := range pods {
		holder := lease.Spec.HolderIdentity
		if holder != nil && strings.HasPrefix(*holder, pod.Name+"_") && pod.DeletionTimestamp == nil {
			return pod, nil
		}
	}
	return leader, errors.Join(fmt.Errorf("none of %d pods holds the Lease: %v", len(pods), lease.Spec), err)
}

// processOf returns the pod's only process whose command line begins with this name and these
// words.
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

// createQuarters creates pods at once that each ask for a quarter of a GPU.
func (c *cluster) createQuarters(t *testing.T, from, to int) []*v1.Pod {
	t.Helper()
	pods := make([]*v1.Pod, to-from)
	var creators sync.WaitGroup
	for n := range pods {
		creators.Go(func() {
			var err error
			quarter := containerAsking("main", asked{count: 1, percentage: 25, cores: 25}, stay)
			pod := podAsking(fmt.Sprintf("quarter-%d", from+n), quarter)
			if pods[n], err = c.pods().Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	creators.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return pods
}

// placeAll creates pods that fill all GPUs, three quarters of them at once. The trouble comes when
// a quarter is bound, and the last quarter of the pods after it. In the end each pod must run with
// its own, free part, and the scheduler must be ready again.
func (c *cluster) placeAll(t *testing.T, h *hami, trouble func(leader v1.Pod)) []*v1.Pod {
	t.Helper()
	leader := c.leader(t)
	quarter := len(h.cards)
	pods := c.createQuarters(t, 0, 3*quarter)
	eventually(t, func(context.Context) error {
		if bound := h.boundOf(pods); bound < quarter {
			return fmt.Errorf("%d pods are bound", bound)
		}
		return nil
	})
	begun, bound := time.Now(), h.boundOf(pods)
	trouble(leader)
	lasted := time.Since(begun)
	pods = append(pods, c.createQuarters(t, 3*quarter, 4*quarter)...)

	h.expectPlaced(t, pods)
	c.waitForScheduler(t)
	fmt.Printf("measured a burst with trouble: it came when %d of %d pods were bound and lasted %.1f s; %.1f s "+
		"later all ran, and the scheduler was ready\n", bound, len(pods), lasted.Seconds(),
		(time.Since(begun) - lasted).Seconds())
	return pods
}

// expectPlaced waits until all of these pods run, each with the part that was chosen for it, which
// must have been free.
func (h *hami) expectPlaced(t *testing.T, pods []*v1.Pod) {
	t.Helper()
	for _, pod := range pods {
		_, err := h.waitFor(t.Context(), pod, func(now *v1.Pod) bool { return now.Spec.NodeName != "" })
		must(t, err)
	}
	h.expectNoFailures(t)
	for _, pod := range pods {
		_, err := h.waitFor(t.Context(), pod, func(now *v1.Pod) bool { return now.Status.Phase == v1.PodRunning })
		must(t, err)
		h.expectSaid(t, pod.UID, "main", 1)
	}
}

// deletePods deletes the pods and waits until they are gone.
func (c *cluster) deletePods(t *testing.T, h *hami, pods []*v1.Pod) {
	t.Helper()
	for _, pod := range pods {
		must(t, c.pods().Delete(t.Context(), pod.Name, metav1.DeleteOptions{}))
	}
	for _, pod := range pods {
		eventually(t, func(context.Context) error {
			if h.now(pod.Name) != nil {
				return fmt.Errorf("%s is still there", pod.Name)
			}
			return nil
		})
	}
}

func TestTheSchedulersOtherReplicaGoesOnWhereTheLeaderIsDeletedInABurst(t *testing.T) {
	c := theCluster(t)
	h := c.startShares(t)
	var former v1.Pod

	c.placeAll(t, h, func(leader v1.Pod) {
		former = leader
		must(t, c.client.CoreV1().Pods(agentNamespace).Delete(t.Context(), leader.Name, metav1.DeleteOptions{}))
	})

	if now := c.leader(t); now.UID == former.UID {
		t.Errorf("%s still leads", now.Name)
	}
}

func TestAllPodsOfABurstRunWhereTheLeadersExtenderIsKilled(t *testing.T) {
	c := theCluster(t)
	h := c.startShares(t)

	c.placeAll(t, h, func(leader v1.Pod) { must(t, syscall.Kill(extenderOf(t, leader), syscall.SIGKILL)) })
}

// The dead extender may have locked the node for a pod that is not bound. The next pod has to wait
// for that lock.
func TestAllPodsOfABurstRunWhereTheLeadersExtenderIsKilledAndTheNodesPluginIsHAMis(t *testing.T) {
	c := theCluster(t)
	h := c.startFormerFor(t, makeGPUs(t), c.startScheduler).hami
	h.namesGPUs = true
	t.Cleanup(func() { must(t, c.removePods(context.Background())) })

	c.placeAll(t, h, func(leader v1.Pod) { must(t, syscall.Kill(extenderOf(t, leader), syscall.SIGKILL)) })

	c.waitForUnlocked(t)
}

// The first candidate gets the Lease when it has expired: the other replica, or the restarted
// kube-scheduler of the same pod. The extender of that pod has led all the time.
func TestAllPodsOfABurstRunWhereTheLeadersKubeSchedulerIsKilled(t *testing.T) {
	c := theCluster(t)
	h := c.startShares(t)

	c.placeAll(t, h, func(leader v1.Pod) { must(t, syscall.Kill(kubeSchedulerOf(t, leader), syscall.SIGKILL)) })
}

// Requests that were sent before the stop may take effect when the API server continues. By then
// the leader has given up its Lease, and kubelet's own Lease has expired.
func TestAllPodsOfABurstRunWhereTheAPIServerStopsForAMinute(t *testing.T) {
	c := theCluster(t)
	h := c.startShares(t)
	server := c.processes["kube-apiserver"].command.Process
	t.Cleanup(func() { must(t, server.Signal(syscall.SIGCONT)) })

	c.placeAll(t, h, func(leader v1.Pod) {
		leads := kubeSchedulerOf(t, leader)
		must(t, server.Signal(syscall.SIGSTOP))
		over := time.After(time.Minute)
		eventually(t, func(context.Context) error {
			if err := syscall.Kill(leads, 0); !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("%s still leads: %v", leader.Name, err)
			}
			return nil
		})
		<-over
		must(t, server.Signal(syscall.SIGCONT))
	})
}

// The outcome of each request in flight is unknown.
func TestAllPodsOfABurstRunWhereTheAPIServerIsKilledAndStartsAgain(t *testing.T) {
	c := theCluster(t)
	h := c.startShares(t)

	c.placeAll(t, h, func(v1.Pod) {
		c.processes["kube-apiserver"].end(syscall.SIGKILL)
		must(t, c.startAPIServer())
	})
}

// stopLeading stops all programs of the leader until another replica leads, then lets them
// continue.
func (c *cluster) stopLeading(t *testing.T, leader v1.Pod) {
	t.Helper()
	programs := []int{extenderOf(t, leader), kubeSchedulerOf(t, leader)}
	goOn := func() {
		for _, id := range programs {
			syscall.Kill(id, syscall.SIGCONT)
		}
	}
	t.Cleanup(goOn)
	for _, id := range programs {
		must(t, syscall.Kill(id, syscall.SIGSTOP))
	}
	eventually(t, func(ctx context.Context) error {
		now, err := c.leaderNow(ctx)
		if err == nil && now.UID == leader.UID {
			err = fmt.Errorf("%s still leads", leader.Name)
		}
		return err
	})
	goOn()
}

// When the former leader continues, its knowledge is older than the lead of the other replica.
// HAMi's plugin refuses no placement for that.
func TestAllPodsOfABurstRunWhereTheLeaderStopsUntilTheOtherReplicaLeads(t *testing.T) {
	c := theCluster(t)
	h := c.startFormerFor(t, makeGPUs(t), c.startScheduler).hami
	h.namesGPUs = true
	t.Cleanup(func() { must(t, c.removePods(context.Background())) })

	c.placeAll(t, h, func(leader v1.Pod) { c.stopLeading(t, leader) })

	c.waitForUnlocked(t)
}
