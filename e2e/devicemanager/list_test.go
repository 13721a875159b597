// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"fmt"
	"testing"
)

// manyNPUs serves this many NPUs with three shares each.
func manyNPUs(count int) string {
	return fmt.Sprintf(`resources:
  - name: dummy.com/npu
    policy: replicas
    replicas: 3
    placement: pack
    dummy:
      count: %d
`, count)
}

const (
	// mostNPUs is the most NPUs of three shares whose list fits kubelet's 4 MiB even if all are
	// unhealthy. That list is 4 bytes below the limit.
	mostNPUs   = 61270
	mostShares = "183810 of 183810"
	// tooLarge is the agent's error for one NPU more.
	tooLarge = "dummy.com/npu: 183813 shares make a list of 4194369 bytes; about 183810 would fit " +
		"kubelet's 4194304 bytes"
)

// startMany starts the agent with a longer check interval, because no agent checks so many devices
// five times a second.
func (k *kubelet) startMany(rest string) *agent {
	k.t.Helper()
	k.t.Setenv("TESSERA_HEALTH_CHECK_INTERVAL", "2s")
	return k.startAgent(rest)
}

func Test60000DevicesAreServed(t *testing.T) {
	k := startKubelet(t)
	a := k.startMany(numbering(60000))
	k.waitFor("60000 of 60000")

	a.fault("fail", npu, "3")
	k.waitFor("59999 of 60000")

	pod, ids := startPod(t, k, "four", 4)
	equal(t, "devices of a pod", ids, []string{"0", "1", "2", "4"})
	k.expectAccounting(a, holdingOf(pod, "main", npu, ids...))
}

func TestTheLargestListThatFitsIsServedWithAllDevicesHealthyOrSick(t *testing.T) {
	k := startKubelet(t)
	a := k.startMany(manyNPUs(mostNPUs))
	k.waitFor(mostShares)
	pod := podOf("four", 4)
	must(t, k.admit(pod))
	equal(t, "shares of a pod", k.devicesOf(npu, pod, "main"), []string{"0::0", "0::1", "0::2", "1::0"})

	a.fault("lose-all", npu)
	k.waitFor("0 of 183810")
	a.fault("restore", npu)

	k.waitFor(mostShares)
}

func TestAListThatGrewTooLargeIsNotSentAndTheFormerStays(t *testing.T) {
	k := startKubelet(t)
	a := k.startMany(manyNPUs(mostNPUs))
	k.waitFor(mostShares)

	a.configure(manyNPUs(mostNPUs + 1))
	a.waitToSay(`ERROR the former device list stays resource=dummy.com/npu reason=list-too-large error="` +
		tooLarge + `"`)
	a.fault("fail", npu, "0")

	k.waitFor("183807 of 183810")
	pod := podOf("four", 4)
	must(t, k.admit(pod))
	equal(t, "shares of a pod", k.devicesOf(npu, pod, "main"), []string{"1::0", "1::1", "1::2", "2::0"})
}

func TestAResourceWhoseListDoesNotFitIsNotServedAndOthersAre(t *testing.T) {
	k := startKubelet(t)
	a := k.startMany(manyNPUs(mostNPUs+1) + moreCards)

	k.waitForResource(card, "4 of 4")

	a.waitToSay(`ERROR resource is not served resource=dummy.com/npu reason=list-too-large error="` + tooLarge + `"`)
	err := k.admit(podOf("four", 4))
	equal(t, "kubelet knows nothing of it", err, nil)
	k.waitFor("0 of 0")

	a.configure(manyNPUs(mostNPUs) + moreCards)
	k.waitFor(mostShares)
}
