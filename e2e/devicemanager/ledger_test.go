// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
)

// holder is who holds a device, as `tessera devices -o json` tells it.
type holder struct{ Namespace, Pod, UID, Container string }

// holders are the holders by device id, of devices that have any.
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

	// kubelet's checkpoint knows the UID, its pod-resources API the names.
	us := holder{Namespace: "default", Pod: "two", UID: "two-uid", Container: "main"}
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
