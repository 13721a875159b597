// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"fmt"
	"os"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
)

// expectKeptOverRestart restarts kubelet and checks that the pod keeps its devices.
func expectKeptOverRestart(t *testing.T, k *kubelet, pod *v1.Pod, ids []string) {
	t.Helper()
	k.stop()
	k.start()
	k.waitFor("64 of 64")
	equal(t, "devices after the restart", expectStarts(t, k, pod, len(ids)), ids)
}

func TestAll64DevicesAreAllocatable(t *testing.T) {
	k := startKubelet(t)

	k.startAgent(npus)

	k.waitFor("64 of 64")
	equal(t, "allocatable devices",
		byNumber(keys(k.manager.GetAllocatableDevices()[npu])), numbers(0, 63))
}

func TestAPodWith2NPUsGetsExactlyItsTwoIDs(t *testing.T) {
	k := startKubelet(t)
	k.startAgent(npus)
	k.waitFor("64 of 64")

	startPod(t, k, "two", 2)
}

func Test32PodsShareAllDevicesAndThe33rdIsRefused(t *testing.T) {
	k := startKubelet(t)
	k.startAgent(npus)
	k.waitFor("64 of 64")

	var held []string
	for n := range 32 {
		_, ids := startPod(t, k, fmt.Sprintf("pod-%d", n), 2)
		held = append(held, ids...)
	}

	equal(t, "devices held", byNumber(held), numbers(0, 63))
	err := k.admit(podOf("late", 2))
	equal(t, "refusal", fmt.Sprint(err), "UnexpectedAdmissionError: Allocate failed due to requested "+
		"number of devices unavailable for dummy.com/npu. Requested: 2, Available: 0, which is unexpected")
}

func TestAnInitContainerAndItsAppContainerGetTheSameDevices(t *testing.T) {
	k := startKubelet(t)
	k.startAgent(npus)
	k.waitFor("64 of 64")

	pod := podOf("with-init", 2)
	pod.Spec.InitContainers = []v1.Container{containerOf("prepare", 2)}
	must(t, k.admit(pod))

	ids := expectStarts(t, k, pod, 2)
	options, err := k.startContainer(pod, pod.Spec.InitContainers[0])
	must(t, err)
	equal(t, "what the init container gets", options, visible(ids...))
}

func TestAFailedDeviceIsWithheldUntilItRecovers(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus)
	k.waitFor("64 of 64")

	a.fault("fail", npu, "7")

	k.waitFor("63 of 64")
	pod := podOf("all-that-work", 63)
	must(t, k.admit(pod))
	equal(t, "devices of the pod", k.devices(pod, "main"), append(numbers(0, 6), numbers(8, 63)...))

	a.fault("heal", npu, "7")

	k.waitFor("64 of 64")
	_, ids := startPod(t, k, "the-healed-one", 1)
	equal(t, "devices of the other pod", ids, []string{"7"})
}

func TestAPodKeepsItsDevicesWhenKubeletRestarts(t *testing.T) {
	k := startKubelet(t)
	k.startAgent(npus)
	k.waitFor("64 of 64")
	pod, before := startPod(t, k, "survivor", 2)

	expectKeptOverRestart(t, k, pod, before)

	_, rest := startPod(t, k, "rest", 62)
	equal(t, "devices of both pods", byNumber(append(rest, before...)), numbers(0, 63))
}

func TestAPodKeepsItsDevicesWhenTheAgentCrashes(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus)
	k.waitFor("64 of 64")
	pod, before := startPod(t, k, "survivor", 2)

	a.kill()
	k.waitFor("0 of 64")
	a.start()

	k.waitFor("64 of 64")
	equal(t, "devices after the crash", expectStarts(t, k, pod, 2), before)
}

func TestAStoppedAgentLeavesNoSocketAndNothingToAllocate(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus)
	k.waitFor("64 of 64")

	status := a.stop()

	equal(t, "exit status", status, 0)
	k.waitFor("0 of 64")
	equal(t, "files left", filesIn(t, pluginDirectory()), []string{"kubelet.sock", checkpointFile})
}

func TestKubeletStartedAfterTheAgentFindsAllDevices(t *testing.T) {
	k := startKubelet(t)
	k.stop()
	must(t, os.RemoveAll(pluginDirectory()))
	k.startAgent(npus)

	k.start()

	k.waitFor("64 of 64")
}

func TestTheAgentRegistersThroughThePluginWatcher(t *testing.T) {
	k := startKubelet(t)
	k.startAgent(npus + watched)
	k.waitFor("64 of 64")

	pod, before := startPod(t, k, "survivor", 2)

	expectKeptOverRestart(t, k, pod, before)
}

func keys(devices devicemanager.DeviceInstances) []string {
	var ids []string
	for id := range devices {
		ids = append(ids, id)
	}
	return ids
}
