// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

// eightNear serves eight NPUs: 0 to 3 near the first NUMA node, 4 to 7 near the second.
const eightNear = `resources:
  - name: dummy.com/npu
    dummy:
      count: 8
      numaNodes: 2
`

// notAligned is the topology manager's refusal of a pod that its policy does not allow.
const notAligned = "TopologyAffinityError: Resources cannot be allocated with Topology locality"

func startOnTwoNodes(t *testing.T, policy string) *kubelet {
	t.Helper()
	k := startKubeletWith(t, policy)
	k.startAgent(eightNear)
	k.waitFor("8 of 8")
	return k
}

// expectPods starts pods one after the other and checks the NPUs of each.
func expectPods(t *testing.T, k *kubelet, want ...[]string) {
	t.Helper()
	for n, ids := range want {
		_, got := startPod(t, k, fmt.Sprintf("pod-%d", n), len(ids))
		equal(t, fmt.Sprintf("devices of pod %d", n), got, ids)
	}
}

func expectRefused(t *testing.T, k *kubelet, count int64, want string) {
	t.Helper()
	equal(t, "refusal", fmt.Sprint(k.admit(podOf("refused", count))), want)
}

// devicesBesideCards starts a pod of one NPU and two cards, and returns what it gets. Only the
// second NUMA node has two cards left, and both nodes have NPUs.
func devicesBesideCards(t *testing.T, policy string) (npus, cards []string) {
	t.Helper()
	k := startKubeletWith(t, policy)
	k.startAgent(eightNear + `  - name: dummy.com/card
    env: CARDS
    dummy:
      count: 8
      numaNodes: 2
`)
	k.waitFor("8 of 8")
	k.waitForResource(card, "8 of 8")
	must(t, k.admit(askingFor("first", card, 3)))
	pod := podWith("both", containerAsking("main", map[v1.ResourceName]int64{npu: 1, card: 2}))
	must(t, k.admit(pod))
	return k.devices(pod, "main"), k.devicesOf(card, pod, "main")
}

func TestPolicyNoneAsksForEachResourceAloneAndAlignsNoneWithAnother(t *testing.T) {
	npus, cards := devicesBesideCards(t, topologymanager.PolicyNone)

	equal(t, "NPU, of the first node", npus, numbers(0, 0))
	equal(t, "cards, of the second node", cards, numbers(4, 5))
}

func TestPolicyBestEffortAlignsTheResourcesOfAPod(t *testing.T) {
	npus, cards := devicesBesideCards(t, topologymanager.PolicyBestEffort)

	equal(t, "NPU, of the second node", npus, numbers(4, 4))
	equal(t, "cards, of the second node", cards, numbers(4, 5))
}

func TestPolicyNoneStillKeepsAPodOnOneNodeAndRefusesOnlyWhatIsNotThere(t *testing.T) {
	k := startOnTwoNodes(t, topologymanager.PolicyNone)

	expectPods(t, k, []string{"0", "1", "2"}, []string{"4", "5", "6"}, []string{"3", "7"})

	expectRefused(t, k, 1, "UnexpectedAdmissionError: Allocate failed due to requested number of devices "+
		"unavailable for dummy.com/npu. Requested: 1, Available: 0, which is unexpected")
}

func TestPolicyBestEffortAlignsWhatItCanAndTakesTheRest(t *testing.T) {
	k := startOnTwoNodes(t, topologymanager.PolicyBestEffort)

	expectPods(t, k, []string{"0", "1", "2"}, []string{"4", "5", "6"}, []string{"3", "7"})

	expectRefused(t, k, 1, "UnexpectedAdmissionError: Allocate failed due to requested number of devices "+
		"unavailable for dummy.com/npu. Requested: 1, Available: 0, which is unexpected")
}

func TestPolicyRestrictedRefusesAPodThatWouldFitOneNodeAndCannotHaveIt(t *testing.T) {
	k := startOnTwoNodes(t, topologymanager.PolicyRestricted)

	expectPods(t, k, []string{"0", "1", "2"}, []string{"4", "5", "6"})

	expectRefused(t, k, 2, notAligned)
}

func TestPolicyRestrictedAdmitsAPodThatNeedsBothNodes(t *testing.T) {
	k := startOnTwoNodes(t, topologymanager.PolicyRestricted)

	expectPods(t, k, numbers(0, 5))
}

func TestPolicySingleNUMANodeRefusesAPodThatNeedsBothNodes(t *testing.T) {
	k := startOnTwoNodes(t, topologymanager.PolicySingleNumaNode)

	expectRefused(t, k, 5, notAligned)

	expectPods(t, k, numbers(0, 3), numbers(4, 7))
}

func TestANodeWithAFailedDeviceHasNoRoomForAPodOfAllItsDevices(t *testing.T) {
	k := startOnTwoNodes(t, topologymanager.PolicySingleNumaNode)

	k.agents[0].fault("fail", npu, "2")
	k.waitFor("7 of 8")

	expectPods(t, k, numbers(4, 7))
	expectRefused(t, k, 4, notAligned)
}

func TestDevicesWithoutNUMANodesSatisfyEveryPolicy(t *testing.T) {
	k := startKubeletWith(t, topologymanager.PolicySingleNumaNode)
	k.startAgent(npus)
	k.waitFor("64 of 64")

	expectPods(t, k, numbers(0, 62))
}

func TestAnAlignedPodKeepsItsNodeWhenKubeletRestarts(t *testing.T) {
	k := startOnTwoNodes(t, topologymanager.PolicySingleNumaNode)
	expectPods(t, k, numbers(0, 2))
	pod := k.pods.active()[0]

	k.stop()
	k.start()
	k.waitFor("8 of 8")

	equal(t, "devices after the restart", expectStarts(t, k, pod, 3), numbers(0, 2))
	_, other := startPod(t, k, "other", 4)
	equal(t, "devices of another pod", other, numbers(4, 7))
}
