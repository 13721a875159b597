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

// timed makes a pod that only stays, in a network of its own. It has a virtual GPU, or is a plain
// one for Kubernetes' own scheduler.
func timed(n int, asks asked) *v1.Pod {
	kind := "plain"
	if asks.count > 0 {
		kind = "share"
	}
	pod := podOf(fmt.Sprintf("%s-%d", kind, n), 0, stay)
	pod.Spec.Containers[0].Resources.Limits = asks.limits()
	if asks.count > 0 {
		pod.Spec.SchedulerName = hamisName
	}
	return pod
}

// timeUntilRunning creates pods at once, and returns the times until all are bound and until all
// run.
func (c *cluster) timeUntilRunning(t *testing.T, h *hami, count int, asks asked) (bound, run time.Duration) {
	t.Helper()
	pods := make(chan *v1.Pod, count)
	begun := time.Now()
	for n := range count {
		go func() {
			pod, err := c.pods().Create(t.Context(), timed(n, asks), metav1.CreateOptions{})
			if err == nil {
				_, err = h.waitFor(t.Context(), pod, func(now *v1.Pod) bool { return now.Status.Phase == v1.PodRunning })
			}
			if err != nil {
				t.Error(err)
				pod = &v1.Pod{}
			}
			pods <- pod
		}()
	}
	for range count {
		uid := (<-pods).UID
		h.mutex.Lock()
		bound, run = max(bound, h.bound[uid].Sub(begun)), max(run, h.running[uid].Sub(begun))
		h.mutex.Unlock()
	}
	must(t, c.removePods(t.Context()))
	return bound, run
}

func medianOf(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// compareTimes prints the start times of this many pods with virtual GPUs, and of as many plain
// pods. The two kinds take turns.
func (c *cluster) compareTimes(t *testing.T, h *hami, what string, count, times int) {
	t.Helper()
	seconds := map[string][]float64{}
	h.takeKept()
	for range times {
		for kind, asks := range map[string]asked{"plain": {}, "virtual": {count: 1, memory: 2000, cores: 5}} {
			bound, run := c.timeUntilRunning(t, h, count, asks)
			seconds[kind] = append(seconds[kind], run.Seconds())
			seconds[kind+" bound"] = append(seconds[kind+" bound"], bound.Seconds())
		}
	}
	median := func(kind string) float64 { return medianOf(seconds[kind]) }
	fmt.Printf("measured %s: with virtual GPUs %.3f s, %.3f of them until bound; plain %.3f s, %.3f of them; "+
		"ratio %.2f (medians of %d); locks outlived bindings for %.3f s a time\n", what, median("virtual"),
		median("virtual bound"), median("plain"), median("plain bound"), median("virtual")/median("plain"), times,
		h.takeKept().Seconds()/float64(times))
}

// compareAllTimes does so for a burst and for one pod, more often in long runs.
func (c *cluster) compareAllTimes(t *testing.T, h *hami, scheduler string) {
	t.Helper()
	bursts, single := 1, 1
	if longRun(t) > 0 {
		bursts, single = 10, 15
	}
	c.timeUntilRunning(t, h, 1, asked{count: 1, memory: 2000, cores: 5})

	c.compareTimes(t, h, fmt.Sprintf("a burst of %d pods until all run%s", burstSize, scheduler), burstSize, bursts)
	c.compareTimes(t, h, "one pod until it runs"+scheduler, 1, single)
}

func TestPodsWithVirtualGPUsOfTheirOwnSizesStartAsFastAsPlainOnes(t *testing.T) {
	c := theCluster(t)
	h := c.startRequested(t)
	c.compareAllTimes(t, h, "")
}
