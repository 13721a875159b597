// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// timed are pods that only stay, in a network of their own: with a virtual GPU, or plain ones that
// Kubernetes' own scheduler places.
func timed(name string, asks asked) *v1.Pod {
	pod := podOf(name, 0, stay)
	pod.Spec.Containers[0].Resources.Limits = asks.limits()
	if asks.count > 0 {
		pod.Spec.SchedulerName = hamiScheduler
	}
	return pod
}

// timeUntilRunning creates pods at once, and says how long it takes until all run.
func (c *cluster) timeUntilRunning(t *testing.T, h *hami, count int, asks asked) time.Duration {
	t.Helper()
	failed := make(chan error, count)
	begun := time.Now()
	for n := range count {
		go func() {
			pod, err := c.pods().Create(t.Context(), timed(fmt.Sprintf("timed-%d", n), asks), metav1.CreateOptions{})
			if err == nil {
				_, err = h.waitFor(t.Context(), pod, func(now *v1.Pod) bool { return now.Status.Phase == v1.PodRunning })
			}
			failed <- err
		}()
	}
	for range count {
		must(t, <-failed)
	}
	took := time.Since(begun)
	must(t, c.removePods(t.Context()))
	return took
}

// compareTimes prints how long so many pods with virtual GPUs take, and as many plain ones, in turns.
func (c *cluster) compareTimes(t *testing.T, h *hami, what string, count, times int) {
	t.Helper()
	var virtual, plain []time.Duration
	for range times {
		plain = append(plain, c.timeUntilRunning(t, h, count, asked{}))
		virtual = append(virtual, c.timeUntilRunning(t, h, count, asked{count: 1, memory: 2000, cores: 5}))
	}
	slices.Sort(plain)
	slices.Sort(virtual)
	middle := times / 2
	fmt.Printf("measured %s: with virtual GPUs %.2f s, plain %.2f s, ratio %.2f (medians of %d; %.2f and %.2f s at best)\n",
		what, virtual[middle].Seconds(), plain[middle].Seconds(), float64(virtual[middle])/float64(plain[middle]),
		times, virtual[0].Seconds(), plain[0].Seconds())
}

func TestPodsWithVirtualGPUsOfTheirOwnSizesStartAsFastAsPlainOnes(t *testing.T) {
	c := theCluster(t)
	h := c.startRequested(t)
	more := podsOfBursts(t) > usualBursts*burstSize
	bursts, single := 1, 5
	if more {
		bursts, single = 5, 15
	}
	c.timeUntilRunning(t, h, 1, asked{count: 1, memory: 2000, cores: 5})

	c.compareTimes(t, h, fmt.Sprintf("a burst of %d pods until all run", burstSize), burstSize, bursts)
	c.compareTimes(t, h, "one pod until it runs", 1, single)
}
