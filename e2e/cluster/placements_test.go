// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// readPlacement records another scheduler's choice for a pod, and the room that the pod uses now.
// The caller holds the mutex.
func (h *hami) readPlacement(pod *v1.Pod) {
	if pod.Spec.NodeName == "" || pod.Annotations[allocatedKey] == "" {
		return
	}
	chosen, read := h.placed[pod.UID]
	if !read {
		var err error
		if chosen, err = h.decode(pod); err != nil {
			h.failures[fmt.Sprintf("%s: %v", chosen.allocated, err)]++
		}
		h.reserved[pod.UID] = pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed
	}
	chosen.taken = h.takenBy(pod, chosen.parts)
	h.placed[pod.UID] = chosen
	if !read {
		h.checkRoom(pod)
	}
}

// takenBy returns the most room that a pod will use of each card from now on. Init containers run
// one after the other, each together with the sidecars before it. Those that have ended use none.
func (h *hami) takenBy(pod *v1.Pod, parts map[string][]part) map[string]room {
	before, beside := map[string]room{}, map[string]room{} // a peak; a running sum
	for n, container := range containersOf(pod) {
		if hasEnded(pod, container.Name) {
			continue
		}
		ends := n < len(pod.Spec.InitContainers) && container.RestartPolicy == nil
		for _, one := range parts[container.Name] {
			id := one.card.ID
			if ends {
				before[id] = before[id].most(beside[id].plus(one.takes()))
			} else {
				beside[id] = beside[id].plus(one.takes())
			}
		}
	}
	taken := map[string]room{}
	for _, one := range h.cards {
		taken[one.ID] = before[one.ID].most(beside[one.ID])
	}
	return taken
}

// hasEnded says whether an init container has succeeded.
func hasEnded(pod *v1.Pod, container string) bool {
	return slices.ContainsFunc(pod.Status.InitContainerStatuses, func(one v1.ContainerStatus) bool {
		return one.Name == container && one.State.Terminated != nil && one.State.Terminated.ExitCode == 0
	})
}

// others returns the room that pods use of each card. The caller holds the mutex.
func (h *hami) others() map[string]room {
	taken := map[string]room{}
	for uid, takes := range h.reserved {
		for id, one := range h.placed[uid].taken {
			if takes {
				taken[id] = taken[id].plus(one)
			}
		}
	}
	return taken
}

// checkRoom records a failure if a pod was bound to room that was not free. The API server reports
// the end of a pod before any binding that relies on it, so the record of used room is complete.
// The caller holds the mutex.
func (h *hami) checkRoom(pod *v1.Pod) {
	taken := h.others()
	for _, one := range h.cards {
		now := taken[one.ID]
		if h.placed[pod.UID].taken[one.ID] == (room{}) {
			continue
		}
		if now.slots > one.Count || now.memory > one.Memory || now.cores > one.Cores {
			h.failures[fmt.Sprintf("pod %s: of %v are taken %v", pod.Name, one, now)]++
		}
	}
}

// boundOf returns how many of these pods are bound.
func (h *hami) boundOf(pods []*v1.Pod) (count int) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, pod := range pods {
		if !h.bound[pod.UID].IsZero() {
			count++
		}
	}
	return count
}

// decode reads the placement from a pod's annotation.
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

// expectNoFailures checks that each pod was bound to free room, and that its annotation could be
// read.
func (h *hami) expectNoFailures(t *testing.T) {
	t.Helper()
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for said := range h.failures {
		t.Error(said)
	}
	if t.Failed() {
		t.FailNow()
	}
}
