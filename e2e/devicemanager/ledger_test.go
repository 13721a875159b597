// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// holder is a holder of a device in the output of `tessera devices -o json`.
type holder struct{ Namespace, Pod, UID, Container string }

// holderOf returns a container as the ledger names it. The UID comes from kubelet's checkpoint, and
// the names from its pod-resources API.
func holderOf(pod *v1.Pod, container string) holder {
	return holder{Namespace: pod.Namespace, Pod: pod.Name, UID: string(pod.UID), Container: container}
}

// holders returns the holders by device id, without devices that have none.
func (a *agent) holders() map[string][]holder {
	a.t.Helper()
	var answer struct {
		Devices []struct {
			ID      string
			Holders []holder
		}
	}
	must(a.t, json.Unmarshal([]byte(a.tessera("devices", "-o", "json")), &answer))
	held := map[string][]holder{}
	for _, device := range answer.Devices {
		if len(device.Holders) > 0 {
			held[device.ID] = device.Holders
		}
	}
	return held
}

func TestTheLedgerNamesThePodThatHoldsADeviceUntilItEnds(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus)
	k.waitFor("64 of 64")
	pod, ids := startPod(t, k, "two", 2)

	us := holderOf(pod, "main")
	k.expectHolders(a, map[string][]holder{ids[0]: {us}, ids[1]: {us}})

	k.pods.remove(pod)

	k.expectHolders(a, map[string][]holder{})
}

func (k *kubelet) expectHolders(a *agent, want map[string][]holder) {
	k.t.Helper()
	eventually(k.t, func() error {
		if got := a.holders(); !reflect.DeepEqual(got, want) {
			return fmt.Errorf("the ledger says %+v, not %+v", got, want)
		}
		return nil
	})
}
