// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

// beside starts a second agent with the files of the first one, and waits until it has registered.
// A rolling update with a surge does the same.
func (k *kubelet) beside(first *agent) *agent {
	k.t.Helper()
	second := k.newAgent(first.directory)
	second.start()
	second.waitToSay("INFO registered resource=" + npu)
	return second
}

// expectServed checks that the running pod keeps its devices, that a new pod gets all others, and
// that the ledger has both.
func (k *kubelet) expectServed(t *testing.T, a *agent) {
	t.Helper()
	k.waitFor("64 of 64")
	running := k.pods.active()[0]
	equal(t, "devices of the pod", expectStarts(t, k, running, 2), numbers(0, 1))
	rest := podOf("rest", 62)
	k.admitSoon(rest)
	ids := expectStarts(t, k, rest, 62)
	equal(t, "devices of another", ids, numbers(2, 63))

	want := map[string][]holder{"0": {holderOf(running, "main")}, "1": {holderOf(running, "main")}}
	for _, id := range ids {
		want[id] = []holder{holderOf(rest, "main")}
	}
	k.expectHolders(a, want)
}

// admitSoon admits a pod. It retries after a refusal in a gap between agents, as the pod's
// controller would.
func (k *kubelet) admitSoon(pod *v1.Pod) {
	k.t.Helper()
	eventually(k.t, func() error {
		err := k.admit(pod)
		if err != nil && !inAGap.MatchString(err.Error()) {
			k.t.Fatal(err)
		}
		return err
	})
}

// Kubernetes up to 1.36 closes the connection to the second agent when the first one ends. When the
// second one ends, kubelet loses the first one without notice. In either case an agent must
// register a third time.

func TestAnUpdateThatStartsTheNewAgentFirstKeepsPodsAndServes(t *testing.T) {
	k := startKubelet(t)
	old := k.startAgent(npus)
	k.waitFor("64 of 64")
	startPod(t, k, "survivor", 2)

	next := k.beside(old)
	equal(t, "exit status", old.stop(), 0)

	k.waitForRegistrations(3)
	k.expectServed(t, next)
}

func TestAnUpdateThatStopsTheOldAgentFirstKeepsPodsAndServes(t *testing.T) {
	k := startKubelet(t)
	old := k.startAgent(npus)
	k.waitFor("64 of 64")
	startPod(t, k, "survivor", 2)

	equal(t, "exit status", old.stop(), 0)
	k.waitFor("0 of 64")
	next := k.beside(old)

	k.expectServed(t, next)
}

func TestAnUpdateThatIsRolledBackKeepsPodsAndServes(t *testing.T) {
	k := startKubelet(t)
	old := k.startAgent(npus)
	k.waitFor("64 of 64")
	startPod(t, k, "survivor", 2)

	next := k.beside(old)
	equal(t, "exit status", next.stop(), 0)

	k.waitForRegistrations(3)
	k.expectServed(t, old)
}

func TestANewAgentThatCrashesLeavesTheOldOneServing(t *testing.T) {
	k := startKubelet(t)
	old := k.startAgent(npus)
	k.waitFor("64 of 64")
	startPod(t, k, "survivor", 2)

	k.beside(old).kill()

	k.waitForRegistrations(3)
	k.expectServed(t, old)
}

func TestAnOldAgentThatCrashesLeavesTheNewOneServing(t *testing.T) {
	k := startKubelet(t)
	old := k.startAgent(npus)
	k.waitFor("64 of 64")
	startPod(t, k, "survivor", 2)

	next := k.beside(old)
	old.kill()

	k.waitForRegistrations(3)
	k.expectServed(t, next)
}

func TestPodsComeWhileTwoAgentsRun(t *testing.T) {
	k := startKubelet(t)
	old := k.startAgent(npus)
	k.waitFor("64 of 64")
	startPod(t, k, "survivor", 2)

	next := k.beside(old)
	k.waitFor("64 of 64")
	pod, ids := startPod(t, k, "during", 3)
	equal(t, "exit status", old.stop(), 0)
	k.waitForRegistrations(3)

	k.waitFor("64 of 64")
	equal(t, "devices after the update", expectStarts(t, k, pod, 3), ids)
	k.pods.remove(pod)
	k.expectServed(t, next)
}

func TestWhatIsTakenOutStaysOutOverAnUpdate(t *testing.T) {
	k := startKubelet(t)
	old := k.startAgent(npus)
	k.waitFor("64 of 64")
	old.tessera("devices", "cordon", npu+"/0", "--reason", "fan is loud")
	k.waitFor("63 of 64")

	lists := k.lists()
	next := k.beside(old)
	k.waitForLists(lists + 1)
	k.waitFor("63 of 64")
	_, one := startPod(t, k, "during", 1)
	equal(t, "devices of a pod that comes during the update", one, numbers(1, 1))
	k.pods.remove(k.pods.active()[0])
	old.fault("fail", npu, "1")
	k.waitFor("62 of 64")
	equal(t, "exit status", old.stop(), 0)
	k.waitForRegistrations(3)

	k.waitFor("62 of 64")
	_, ids := startPod(t, k, "all-that-work", 62)
	equal(t, "devices of a pod", ids, numbers(2, 63))
	next.tessera("devices", "uncordon", npu+"/0")
	next.fault("heal", npu, "1")
	k.waitFor("64 of 64")
}
