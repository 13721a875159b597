// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// moreCards serves the cards as a further resource.
var moreCards = strings.TrimPrefix(cards, "resources:\n")

// numbering serves this many NPUs.
func numbering(count int) string { return strings.Replace(npus, "64", fmt.Sprint(count), 1) }

// expectRegistered waits until the agent has counted so many registrations of the NPUs. Kubelet
// answers each one after it has connected.
func (a *agent) expectRegistered(times int) {
	a.t.Helper()
	want := []string{fmt.Sprintf(`tessera_registrations_total{resource="dummy.com/npu",code="ok"} %d`, times)}
	eventually(a.t, func() error {
		got := a.metrics(`tessera_registrations_total{resource="dummy.com/npu"`)
		if !slices.Equal(got, want) {
			return fmt.Errorf("registrations: %q, not %q", got, want)
		}
		return nil
	})
}

const listsOfNPUs = `tessera_lists_sent_total{resource="dummy.com/npu"}`

func TestAResourceThatIsAddedIsServedAndTheOthersDoNotNotice(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus)
	k.waitFor("64 of 64")
	survivor, _ := startPod(t, k, "survivor", 2)
	us := []holder{holderOf(survivor, "main")}
	k.expectHolders(a, map[string][]holder{"0": us, "1": us}) // lists repeat until then
	before := a.metrics(listsOfNPUs)

	a.configure(npus + moreCards)

	k.waitForResource(card, "4 of 4")
	pod := askingFor("two", card, 2)
	must(t, k.admit(pod))
	equal(t, "what a container of the new resource gets", k.startMain(pod), twoCards())
	a.expectRegistered(1)
	equal(t, "lists of the NPUs", a.metrics(listsOfNPUs), before)
	k.pods.remove(pod)
	k.expectServed(t, a)
}

func TestAResourceThatIsRemovedAndAddedAgainKeepsItsPods(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus + moreCards)
	k.waitFor("64 of 64")
	k.waitForResource(card, "4 of 4")
	pod := askingFor("survivor", card, 2)
	must(t, k.admit(pod))

	a.configure(npus)
	k.waitForResource(card, "0 of 4")
	equal(t, "what its container gets", k.startMain(pod), twoCards())
	equal(t, "refusal", fmt.Sprint(k.admit(askingFor("late", card, 1))), "UnexpectedAdmissionError: Allocate "+
		"failed due to no healthy devices present; cannot allocate unhealthy devices dummy.com/card, "+
		"which is unexpected")

	a.configure(npus + moreCards)
	k.waitForResource(card, "4 of 4")
	equal(t, "what its container gets", k.startMain(pod), twoCards())
	other := askingFor("other", card, 2)
	must(t, k.admit(other))
	equal(t, "cards of another pod", k.devicesOf(card, other, "main"), []string{"2", "3"})
	a.expectRegistered(1)
}

func TestDevicesThatLeaveTheConfigurationStayListedUntilTheirPodEnds(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus)
	k.waitFor("64 of 64")
	startPod(t, k, "stays", 2)
	pod, ids := startPod(t, k, "ends", 2)
	equal(t, "devices of the second pod", ids, numbers(2, 3))

	a.configure(numbering(2))
	k.waitFor("2 of 4")
	equal(t, "devices after a restart of its container", expectStarts(t, k, pod, 2), ids)

	k.pods.remove(pod)
	k.waitFor("2 of 2")

	a.configure(npus)
	k.waitFor("64 of 64")
	_, ids = startPod(t, k, "rest", 62)
	equal(t, "devices of another pod", ids, numbers(2, 63))
	a.expectRegistered(1)
}

func TestAChangedVariableIsForNewPodsAndRunningOnesKeepTheirs(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus)
	k.waitFor("64 of 64")
	old, ids := startPod(t, k, "old", 2)

	a.configure(strings.Replace(npus, "    dummy:", "    env: NPUS\n    dummy:", 1))
	a.waitToSay("configuration reloaded")

	pod := podOf("new", 2)
	must(t, k.admit(pod))
	want := visible("2", "3")
	want.Envs[0].Name = "NPUS"
	equal(t, "what a new container gets", k.startMain(pod), want)
	equal(t, "devices of the old pod", expectStarts(t, k, old, 2), ids)
}

func TestDevicesTakeAnotherPolicyOneByOneWhenNoPodHoldsThem(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus)
	k.waitFor("64 of 64")
	pod, ids := startPod(t, k, "holder", 1)
	other, more := startPod(t, k, "other", 1)
	equal(t, "devices of both", append(ids, more...), numbers(0, 1))
	k.expectHolders(a, map[string][]holder{"0": {holderOf(pod, "main")}, "1": {holderOf(other, "main")}})

	a.configure(strings.Replace(npus, "    dummy:", "    policy: replicas\n    replicas: 2\n    dummy:", 1))
	k.waitFor("126 of 126")
	a.waitToSay(`devices keep their former shares until no container holds them resource=dummy.com/npu devices=2 ` +
		`configured="2 replicas"`)
	equal(t, "devices of the first after a restart", expectStarts(t, k, pod, 1), ids)
	late := podOf("late", 1)
	must(t, k.admit(late))
	equal(t, "share of a third pod", k.devicesOf(npu, late, "main"), []string{"2::0"})

	k.pods.remove(pod)
	k.waitFor("127 of 127")
	k.pods.remove(other)
	k.waitFor("128 of 128")
	a.waitToSay(`all devices follow the configured policy resource=dummy.com/npu configured="2 replicas"`)
	a.expectRegistered(1)
}

func TestAResetBeforeEachStartTakesANewRegistrationAndKeepsPods(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus)
	k.waitFor("64 of 64")
	startPod(t, k, "survivor", 2)
	a.expectRegistered(1) // a registration without an answer would not be counted

	a.configure(resettable)
	k.waitForRegistrations(2)
	k.waitForOneStream()

	k.expectServed(t, a)
	equal(t, "resets", a.metrics("tessera_pre_starts_total"),
		[]string{`tessera_pre_starts_total{resource="dummy.com/npu",code="ok"} 2`})
}

func TestABrokenConfigurationChangesNothing(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus)
	k.waitFor("64 of 64")
	startPod(t, k, "survivor", 2)

	a.configure(strings.Replace(npus, "count: 64", "count: many", 1))
	a.waitToSay("ERROR the new configuration is not used, the former one stays")

	k.expectServed(t, a)
	a.expectRegistered(1)
	a.configure(numbering(64) + moreCards)
	k.waitForResource(card, "4 of 4")
}
