// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	kinds "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const burstSize = 30 // in long runs, and in timed bursts

// longRun returns TESSERA_E2E_PODS, the number of pods in a search for rare faults, or 0 if it is
// not set.
func longRun(t *testing.T) int {
	t.Helper()
	text := os.Getenv("TESSERA_E2E_PODS")
	if text == "" {
		return 0
	}
	count, err := strconv.Atoi(text)
	must(t, err)
	return count
}

// newBurstsOf starts a scheduler and returns bursts of this size, and the number of pods to start.
// A long run has its own size and number.
func (c *cluster) newBurstsOf(t *testing.T, size, pods int) (*bursts, int) {
	t.Helper()
	return c.newBurstsWith(t, c.startRequested(t), size, pods)
}

// newBurstsWith does the same with a scheduler that runs already.
func (c *cluster) newBurstsWith(t *testing.T, h *hami, size, pods int) (*bursts, int) {
	t.Helper()
	if more := longRun(t); more > 0 {
		size, pods = burstSize, more
	}
	return &bursts{cluster: c, hami: h, size: size, runs: map[types.UID]map[string]int{}, refused: map[string]int{}}, pods
}

// bursts creates pods of all kinds in bursts, and compares each container's report with the
// scheduler's choice. Its results are final once run has returned.
type bursts struct {
	cluster *cluster
	hami    *hami
	size    int // pods in a burst

	mutex   sync.Mutex
	runs    map[types.UID]map[string]int // reports of each container, by pod
	reports int
	wrong   []string // reports that do not match the scheduler's choice
	refused map[string]int
	next    int // makes each request differ
	bound   int // pods whose containers have all reported
}

// run starts this many pods. It deletes each burst once all its containers have reported, and gives
// the next burst the same names.
func (b *bursts) run(ctx context.Context, pods int) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	unread := make(chan error, 1)
	go func() { unread <- b.read(reading) }()
	for begun := 0; begun < pods; begun += b.size {
		failed := make(chan error, b.size)
		size := min(b.size, pods-begun)
		for n := range size {
			go func() { failed <- b.runOne(ctx, begun+n, fmt.Sprintf("burst-%d", n)) }()
		}
		var err error
		for range size {
			if one := <-failed; one != nil && err == nil {
				err = one
			}
		}
		if err != nil {
			return err
		}
		if err := b.cluster.pods().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return err
		}
	}
	stop()
	return <-unread
}

// read compares reports as they arrive, on its own goroutine.
func (b *bursts) read(ctx context.Context) error {
	known := map[string]said{}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		seen := len(known)
		before := map[string]bool{}
		for name := range known {
			before[name] = true
		}
		if err := readSaid(known); err != nil && !os.IsNotExist(err) {
			return err
		}
		if len(known) > seen {
			for name, one := range known {
				if !before[name] {
					b.count(one)
				}
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (b *bursts) count(one said) {
	mismatch := b.hami.mismatch(one)
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.reports++
	if b.runs[one.pod] == nil {
		b.runs[one.pod] = map[string]int{}
	}
	b.runs[one.pod][one.container]++
	if mismatch != "" {
		b.wrong = append(b.wrong, mismatch)
	}
}

// has says whether each container of the pod has reported at least this often.
func (b *bursts) has(pod types.UID, runs map[string]int) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for container, count := range runs {
		if b.runs[pod][container] < count {
			return false
		}
	}
	return true
}

// asks returns the request of the next container, different from the ones before.
func (b *bursts) asks() asked {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.next++
	return asked{count: 1, memory: 500 + int64(b.next)*7%7600, cores: 1 + int64(b.next)%10}
}

// podOfKind makes a pod of one of the ten kinds, and returns the least number of reports from each
// container.
func (b *bursts) podOfKind(kind int, name string) (*v1.Pod, map[string]int) {
	none := asked{}
	main := containerAsking("main", b.asks(), stay)
	switch kind % 10 {
	case 1:
		return withInit(podAsking(name, main), containerAsking("init", b.asks(), "")), map[string]int{"init": 1, "main": 1}
	case 2:
		return withInit(podAsking(name, main), sidecar(containerAsking("side", b.asks(), stay))),
			map[string]int{"side": 1, "main": 1}
	case 3:
		return podAsking(name, containerAsking("first", b.asks(), stay), main), map[string]int{"first": 1, "main": 1}
	case 4:
		return podAsking(name, containerAsking("without", none, stay), main), map[string]int{"without": 1, "main": 1}
	case 5:
		return podAsking(name, containerAsking("main", b.asks(), crashTwice+stay)), map[string]int{"main": 3}
	case 6:
		return withInit(podAsking(name, main), containerAsking("without", none, "")), map[string]int{"without": 1, "main": 1}
	case 7:
		two := b.asks()
		two.count = 2
		return podAsking(name, containerAsking("main", two, stay)), map[string]int{"main": 1}
	case 8:
		part := b.asks()
		part.memory, part.percentage, part.cores = 0, part.cores, 0
		return podAsking(name, containerAsking("main", part, stay)), map[string]int{"main": 1}
	case 9:
		return withInit(podAsking(name, containerAsking("without", none, stay), main),
				containerAsking("first", none, ""), sidecar(containerAsking("side", b.asks(), stay)),
				containerAsking("init", b.asks(), crashTwice)),
			map[string]int{"first": 1, "side": 1, "init": 3, "without": 1, "main": 1}
	}
	return podAsking(name, main), map[string]int{"main": 1}
}

// runOne runs a pod until its containers have reported. It recreates a pod that kubelet refuses, as
// a Deployment would, and some pods as soon as they are bound. Any goroutine may call it.
func (b *bursts) runOne(ctx context.Context, n int, name string) error {
	for first := true; ; first = false {
		pod, runs := b.podOfKind(n, name)
		pod, err := b.make(ctx, pod)
		if err != nil {
			return err
		}
		done := func(now *v1.Pod) bool {
			return b.has(pod.UID, runs) || now.Status.Phase == v1.PodFailed ||
				first && n%7 == 3 && now.Spec.NodeName != ""
		}
		now, err := b.hami.waitForOrEnd(ctx, pod, done)
		if err != nil {
			return err
		}
		if now == nil {
			b.refuse("evicted")
			continue
		}
		if b.has(pod.UID, runs) {
			b.mutex.Lock()
			b.bound++
			b.mutex.Unlock()
			return nil
		}
		if now.Status.Phase == v1.PodFailed {
			b.refuse(now.Status.Reason + ": " + now.Status.Message)
		}
		if err := b.cluster.pods().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !kinds.IsNotFound(err) {
			return err
		}
	}
}

func (b *bursts) refuse(why string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.refused[why]++
}

// make creates the pod as soon as no other pod has its name.
func (b *bursts) make(ctx context.Context, pod *v1.Pod) (made *v1.Pod, err error) {
	waited := waitUntil(5*patient, func(context.Context) error {
		if now := b.hami.now(pod.Name); now != nil && ctx.Err() == nil {
			return fmt.Errorf("pod %s is still there: %s", pod.Name, describe(now))
		}
		if made, err = b.cluster.pods().Create(ctx, pod, metav1.CreateOptions{}); kinds.IsAlreadyExists(err) {
			return err
		}
		return nil
	})
	return made, cmp.Or(waited, err)
}

// waitFor waits until done accepts the pod. The limit is five minutes, because a busy machine
// starts a burst slowly.
func (h *hami) waitFor(ctx context.Context, pod *v1.Pod, done func(*v1.Pod) bool) (*v1.Pod, error) {
	now, err := h.waitForOrEnd(ctx, pod, done)
	if err == nil && now == nil {
		err = fmt.Errorf("pod %s is gone", pod.Name)
	}
	return now, err
}

// waitForOrEnd does the same, but returns nil if the pod was deleted.
func (h *hami) waitForOrEnd(ctx context.Context, pod *v1.Pod, done func(*v1.Pod) bool) (now *v1.Pod, err error) {
	seen := false
	err = waitUntil(5*patient, func(context.Context) error {
		if ctx.Err() != nil {
			return nil
		}
		now = h.now(pod.Name)
		if now != nil && now.UID != pod.UID {
			now = nil
		}
		if now == nil && seen {
			return nil
		}
		if now == nil {
			return fmt.Errorf("pod %s is not there", pod.Name)
		}
		seen = true
		if !done(now) {
			return fmt.Errorf("pod %s is %s: %s", pod.Name, now.Status.Phase, describe(now))
		}
		return nil
	})
	return now, cmp.Or(err, ctx.Err())
}

// expectNoneWrong prints the counts of the bursts and fails the test for each mismatch.
func (b *bursts) expectNoneWrong(t *testing.T, what string) {
	t.Helper()
	refused := 0
	for said, count := range b.refused {
		refused += count
		t.Logf("%d times: %s", count, said)
	}
	for said, count := range b.hami.failures {
		t.Logf("%d times the scheduler: %s", count, said)
	}
	fmt.Printf("measured %s: %d pods, %d containers started, %d mismatches, %d pods refused\n",
		what, b.bound, b.reports, len(b.wrong), refused)
	for _, one := range b.wrong {
		t.Error(one)
	}
	if b.hami.reads {
		b.hami.expectNoFailures(t)
	}
}
