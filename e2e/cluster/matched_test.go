// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// configureContainerd runs containerd with another configuration until the test's end.
func (c *cluster) configureContainerd(t *testing.T, change func(before string) string) {
	t.Helper()
	const path = "/e2e/containerd.toml"
	before, err := os.ReadFile(path)
	must(t, err)
	set := func(content string) {
		must(t, os.WriteFile(path, []byte(content), 0o644))
		must(t, c.restart("containerd", syscall.SIGTERM))
	}
	t.Cleanup(func() { set(string(before)) })
	set(change(string(before)))
}

// switchCDIOff runs containerd without CDI until the test's end.
func (c *cluster) switchCDIOff(t *testing.T) {
	t.Helper()
	c.configureContainerd(t, func(before string) string {
		return strings.Replace(before, "enable_cdi = true", "enable_cdi = false", 1)
	})
}

// matching gives the agent the rights that matched grants need: to make device nodes, and to evict
// pods.
func matching(t *testing.T, m manifest) {
	t.Helper()
	switch m.object.GetKind() {
	case "DaemonSet":
		path := []string{"spec", "template", "spec", "containers"}
		containers, _, err := unstructured.NestedSlice(m.object.Object, path...)
		must(t, err)
		security := containers[0].(map[string]any)["securityContext"].(map[string]any)
		security["capabilities"].(map[string]any)["add"] = []any{"MKNOD"}
		must(t, unstructured.SetNestedSlice(m.object.Object, containers, path...))
	case "ClusterRole":
		rules, _, err := unstructured.NestedSlice(m.object.Object, "rules")
		must(t, err)
		rules = append(rules, map[string]any{"apiGroups": []any{""}, "resources": []any{"pods/eviction"},
			"verbs": []any{"create"}})
		must(t, unstructured.SetNestedSlice(m.object.Object, rules, "rules"))
	}
}

// startMatched is startRequested on a runtime without CDI: the agent must find a grant's container
// during Allocate.
func (c *cluster) startMatched(t *testing.T) *hami {
	t.Helper()
	return c.startMatchedWith(t, ", evictMismatched: true")
}

// startMatchedWith takes further settings of the vgpu section instead of evictMismatched.
func (c *cluster) startMatchedWith(t *testing.T, more string) *hami {
	t.Helper()
	return c.startMatchedOn(t, func() {}, more, matching)
}

// startMatchedOn also takes a preparation of the node before the agent starts, and the edit that
// gives the agent its rights.
func (c *cluster) startMatchedOn(t *testing.T, prepare func(), more string, rights func(*testing.T, manifest)) *hami {
	t.Helper()
	c.switchCDIOff(t)
	c.configureKubelet(t, "crashLoopBackOff: {maxContainerRestartPeriod: 1s}\n")
	makeGPUs(t)
	prepare()
	c.installRequestedBy(t, "    strategies: [envvar, device-specs]\n", more, func(m manifest) { rights(t, m) })
	h := c.startHAMi(t, 8)
	h.namesGPUs = true
	return h
}

func TestWithoutCDIEachContainerOfBurstsOfPodsHasWhatHAMisSchedulerChoseForItOrDoesNotStart(t *testing.T) {
	c := theCluster(t)
	b, pods := c.newBurstsWith(t, c.startMatched(t), 15, 30)

	must(t, b.run(t.Context(), pods))

	b.expectNoneWrong(t, "bursts of pods that say how large their GPUs are, without CDI")
}

// The scheduler holds no lock for this pod, and nothing else tells the agent that it is not the pod
// with the lock.
func TestWithoutCDIAPodThatComesPastTheSchedulerTakesNothingOfTheOthers(t *testing.T) {
	c := theCluster(t)
	h := c.startMatched(t)
	one := asked{count: 1, memory: 700, cores: 10}

	past := podAsking("past", containerAsking("main", one, stay))
	past.Spec.NodeName, past.Spec.SchedulerName = nodeName, ""
	c.createAsking(t, past)
	c.waitForPhase(t, "past", v1.PodFailed)

	pod := c.createAsking(t, podAsking("placed", containerAsking("main", one, stay)))
	h.expectSaid(t, pod.UID, "main", 1)
}

// strangers creates pods that bypass the scheduler, one after the other, until the context ends. To
// kubelet they are pods like the others.
func (c *cluster) strangers(ctx context.Context) (sent int, err error) {
	for ; ctx.Err() == nil; sent++ {
		name := fmt.Sprintf("stranger-%d", sent)
		pod := podAsking(name, containerAsking("main", asked{count: 1, memory: 700, cores: 10}, stay))
		pod.Spec.NodeName, pod.Spec.SchedulerName = nodeName, ""
		if _, err := c.pods().Create(ctx, pod, metav1.CreateOptions{}); err != nil && ctx.Err() == nil {
			return sent, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
	return sent, nil
}

func TestWithoutCDINoContainerHasWhatIsAnothersWhilePodsComePastTheSchedulerAndAgentsDie(t *testing.T) {
	c := theCluster(t)
	b, pods := c.newBurstsWith(t, c.startMatched(t), 10, 20)
	ended, left := make(chan error, 1), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	sent := 0
	go func() { ended <- b.run(ctx, pods) }()
	go func() {
		count, err := c.strangers(ctx)
		sent = count
		left <- err
	}()

	kills := 0
	for tick := time.NewTicker(15 * time.Second); ; kills++ {
		select {
		case err := <-ended:
			cancel()
			must(t, err)
			must(t, <-left)
			b.expectNoneWrong(t, fmt.Sprintf("the same without CDI with %d kills, beside %d pods past the scheduler", kills, sent))
			return
		case <-tick.C:
			killAgents(t)
		}
	}
}
