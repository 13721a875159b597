// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

// shared serves cards that are divided into replicas, with a placement.
func shared(devices, replicas int, placement string) string {
	return fmt.Sprintf(`resources:
  - name: dummy.com/card
    env: CARDS
    policy: replicas
    replicas: %d
    placement: %s
    dummy:
      count: %d
`, replicas, placement, devices)
}

// expectShares admits pods one after the other and checks the shares of each.
func expectShares(t *testing.T, k *kubelet, want ...[]string) {
	t.Helper()
	for n, shares := range want {
		pod := askingFor(fmt.Sprintf("pod-%d", n), card, int64(len(shares)))
		must(t, k.admit(pod))
		equal(t, fmt.Sprintf("shares of pod %d", n), k.devicesOf(card, pod, "main"), shares)
	}
}

func TestAPodGoesToTheNodeWithTheLeastRoomThatSuffices(t *testing.T) {
	k := startOnTwoNodes(t, topologymanager.PolicyNone)

	expectPods(t, k, []string{"0"}, []string{"1", "2"}, []string{"4", "5", "6", "7"}, []string{"3"})
}

func TestSpreadSharesGoToTheDeviceWithTheFewestTaken(t *testing.T) {
	k := startKubelet(t)
	k.startAgent(shared(3, 2, "spread"))
	k.waitForResource(card, "6 of 6")

	expectShares(t, k, []string{"0::0"}, []string{"1::0", "2::0"}, []string{"0::1"})
}

func TestPackedSharesFillOneDeviceAfterTheOther(t *testing.T) {
	k := startKubelet(t)
	k.startAgent(shared(3, 3, "pack"))
	k.waitForResource(card, "9 of 9")

	expectShares(t, k, []string{"0::0"}, []string{"0::1"}, []string{"0::2", "1::0"}, []string{"1::1"})
}

func TestMoreDevicesAreChosenNearThoseOfTheInitContainer(t *testing.T) {
	k := startOnTwoNodes(t, topologymanager.PolicyNone)
	expectPods(t, k, numbers(0, 2))

	pod := podOf("near", 3)
	pod.Spec.InitContainers = []v1.Container{containerOf("prepare", 2)}
	must(t, k.admit(pod))

	// The first node has one device left, too few for the init container.
	equal(t, "prepare", k.devices(pod, "prepare"), numbers(4, 5))
	equal(t, "main", k.devices(pod, "main"), numbers(4, 6))
}

func TestAnUnhealthyDeviceIsNeitherPreferredNorGiven(t *testing.T) {
	k := startOnTwoNodes(t, topologymanager.PolicyNone)

	k.agents[0].tessera("devices", "cordon", npu+"/0", "--reason", "fan is loud")
	k.waitFor("7 of 8")

	expectPods(t, k, numbers(1, 1), numbers(4, 7), numbers(2, 3))
	k.expectAsked(3)
}

// expectAsked checks how often kubelet has asked the agent for a preference.
func (k *kubelet) expectAsked(times int) {
	k.t.Helper()
	equal(k.t, "questions", k.agents[0].metrics("tessera_preferred_allocations_total"),
		[]string{fmt.Sprintf(`tessera_preferred_allocations_total{resource="dummy.com/npu"} %d`, times)})
}
