// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	seedVariable = "TESSERA_E2E_SEED"
	kills        = 50
)

// seedOf returns a new seed, or the one of a run to repeat, and logs it.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		must(t, err)
	}
	t.Logf("%s=%d", seedVariable, seed)
	return seed
}

func TestAnAgentKilledAtAnyPointGrantsNothingWrongAndNothingTwice(t *testing.T) {
	seed := seedOf(t)
	random := rand.New(rand.NewPCG(seed, 1))
	k := startKubelet(t)
	a := k.startAgent(npus)
	k.waitFor("64 of 64")
	// A cordon withholds one device and a fault another one. No kill may make the agent forget
	// either.
	a.tessera("devices", "cordon", npu+"/7", "--reason", "fan is loud")
	a.fault("fail", npu, "9")
	k.waitFor("62 of 64")

	u := k.startChurn(rand.New(rand.NewPCG(seed, 2)), "7", "9")
	for range kills {
		if random.IntN(2) == 0 { // kill a serving agent; else one that is starting
			k.waitFor("62 of 64")
		}
		<-time.After(time.Duration(random.IntN(50)) * time.Millisecond) // the moment is random
		a.kill()
		a.start()
	}
	k.waitFor("62 of 64")
	u.waitForSteps(kills)
	u.stop()

	for _, wrong := range u.wrong {
		t.Error(wrong)
	}
	t.Log(u)
	if strings.Contains(a.log.String(), " ERROR ") {
		t.Error("the agent met errors")
	}
	a.tessera("devices", "uncordon", npu+"/7")
	a.fault("heal", npu, "9")
	k.waitFor("64 of 64")
	// This allocation also makes kubelet forget the last pods that ended.
	rest, ids := startPod(t, k, "rest", 64-len(u.held))
	for _, id := range ids {
		if other := u.held[id]; other != nil {
			t.Errorf("device %s of %s went to another pod as well", id, other.Name)
		}
		u.held[id] = rest
	}
	holders := map[string][]holder{}
	for id, pod := range u.held {
		holders[id] = []holder{holderOf(pod, "main")}
	}
	equal(t, "number of devices held", len(holders), 64)
	equal(t, "sockets beside kubelet's", len(filesIn(t, pluginDirectory()))-2, 1)
	k.expectHolders(a, holders)
}
