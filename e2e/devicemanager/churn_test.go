// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
)

const (
	churnPace = time.Millisecond // between two steps
	churnSize = 5                // the most devices of a pod
)

// inAGap matches kubelet's refusals of a pod while no agent serves, while an agent ends, or when no
// device is left.
var inAGap = regexp.MustCompile(`^UnexpectedAdmissionError: Allocate failed due to (` +
	`no healthy devices present; cannot allocate unhealthy devices dummy.com/npu|` +
	`requested number of devices unavailable for dummy.com/npu. Requested: \d, Available: \d|` +
	`(device plugin GetPreferredAllocation rpc failed with err: )?` +
	`(rpc error: code = (Unavailable|Canceled) desc = .*|endpoint .* has been stopped)` +
	`), which is unexpected$`)

// churn admits pods, restarts their containers and ends them, one step after the other as kubelet
// does. It checks every grant. Its results are final once it has stopped.
type churn struct {
	k        *kubelet
	random   *rand.Rand
	withheld []string // devices that no pod may get
	stopping chan struct{}
	stopped  chan struct{}

	pods  []*v1.Pod
	held  map[string]*v1.Pod // by device
	wrong []string

	admitted, refused, restarted atomic.Int64 // valid at any time
}

// startChurn starts the steps. No pod may get a withheld device.
func (k *kubelet) startChurn(random *rand.Rand, withheld ...string) *churn {
	u := &churn{k: k, random: random, withheld: withheld, held: map[string]*v1.Pod{},
		stopping: make(chan struct{}), stopped: make(chan struct{})}
	pace := time.NewTicker(churnPace)
	go func() {
		defer close(u.stopped)
		defer pace.Stop()
		for n := 0; ; n++ {
			select {
			case <-u.stopping:
				return
			case <-pace.C:
				u.step(n)
			}
		}
	}()
	k.t.Cleanup(u.stop)
	return u
}

// waitForSteps waits until this many pods were admitted, this many containers restarted, and at
// least one pod was refused. Refusals happen whenever all devices are held.
func (u *churn) waitForSteps(count int64) {
	u.k.t.Helper()
	eventually(u.k.t, func() error {
		if u.admitted.Load() < count || u.refused.Load() == 0 || u.restarted.Load() < count {
			return fmt.Errorf("too little happened to mean anything: %s", u)
		}
		return nil
	})
}

func (u *churn) String() string {
	return fmt.Sprintf("%d pods came, %d were refused, %d containers restarted",
		u.admitted.Load(), u.refused.Load(), u.restarted.Load())
}

// stop ends the steps. Further calls have no effect.
func (u *churn) stop() {
	select {
	case <-u.stopping:
	default:
		close(u.stopping)
	}
	<-u.stopped
}

func (u *churn) step(n int) {
	switch choice := u.random.IntN(3); {
	case choice == 0 && len(u.pods) > 0:
		u.end(u.random.IntN(len(u.pods)))
	case choice == 1 && len(u.pods) > 0:
		u.restarted.Add(1)
		u.expectGets(u.pods[u.random.IntN(len(u.pods))])
	default:
		u.admit(podOf(fmt.Sprintf("churn-%d", n), int64(1+u.random.IntN(churnSize))))
	}
}

func (u *churn) end(position int) {
	pod := u.pods[position]
	u.k.pods.remove(pod)
	u.pods = slices.Delete(u.pods, position, position+1)
	for id, holder := range u.held {
		if holder == pod {
			delete(u.held, id)
		}
	}
}

func (u *churn) admit(pod *v1.Pod) {
	if err := u.k.admit(pod); err != nil {
		u.refused.Add(1)
		if !inAGap.MatchString(err.Error()) {
			u.note("%s was refused: %v", pod.Name, err)
		}
		return
	}
	u.admitted.Add(1)
	ids := u.k.devices(pod, "main")
	limit := pod.Spec.Containers[0].Resources.Limits[npu]
	if int64(len(ids)) != limit.Value() {
		u.note("%s asked for %d devices and got %v", pod.Name, limit.Value(), ids)
	}
	for _, id := range ids {
		if other := u.held[id]; other != nil {
			u.note("device %s of %s went to %s as well", id, other.Name, pod.Name)
		}
		if slices.Contains(u.withheld, id) {
			u.note("device %s went to %s, and may go to nobody", id, pod.Name)
		}
		u.held[id] = pod
	}
	u.pods = append(u.pods, pod)
	u.expectGets(pod)
}

// expectGets starts a pod's container and checks its grant against kubelet's accounting.
func (u *churn) expectGets(pod *v1.Pod) {
	options, err := u.k.startContainer(pod, pod.Spec.Containers[0])
	want := visible(u.k.devices(pod, "main")...)
	if err != nil || !reflect.DeepEqual(options, want) {
		u.note("%s got %+v, %v instead of %+v", pod.Name, options, err, want)
	}
}

func (u *churn) note(format string, arguments ...any) {
	u.wrong = append(u.wrong, fmt.Sprintf(format, arguments...))
}
