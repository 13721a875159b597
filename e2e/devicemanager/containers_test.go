// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// resettable serves NPUs that the agent resets before every container start.
const resettable = npus + "      reset: before-start\n"

// expectGets starts a container and checks its grant against kubelet's accounting. It returns the
// ids.
func (k *kubelet) expectGets(pod *v1.Pod, container v1.Container) []string {
	k.t.Helper()
	ids := k.devices(pod, container.Name)
	options, err := k.startContainer(pod, container)
	must(k.t, err)
	equal(k.t, "what container "+container.Name+" gets", options, visible(ids...))
	return ids
}

func TestInitContainersOfGrowingNeedsPassTheirDevicesOn(t *testing.T) {
	k := startKubelet(t)
	k.startAgent(npus)
	k.waitFor("64 of 64")

	pod := podOf("growing", 4)
	pod.Spec.InitContainers = []v1.Container{containerOf("first", 1), containerOf("second", 3)}
	must(t, k.admit(pod))

	equal(t, "first", k.expectGets(pod, pod.Spec.InitContainers[0]), numbers(0, 0))
	equal(t, "second", k.expectGets(pod, pod.Spec.InitContainers[1]), numbers(0, 2))
	equal(t, "main", k.expectGets(pod, pod.Spec.Containers[0]), numbers(0, 3))
}

func TestASidecarKeepsItsDevicesFromAllLaterContainers(t *testing.T) {
	k := startKubelet(t)
	k.startAgent(npus)
	k.waitFor("64 of 64")

	pod := podOf("with-sidecar", 2)
	pod.Spec.InitContainers = []v1.Container{sidecarOf("sidecar", 2), containerOf("prepare", 1)}
	must(t, k.admit(pod))

	equal(t, "sidecar", k.expectGets(pod, pod.Spec.InitContainers[0]), numbers(0, 1))
	equal(t, "prepare", k.expectGets(pod, pod.Spec.InitContainers[1]), numbers(2, 2))
	equal(t, "main", k.expectGets(pod, pod.Spec.Containers[0]), numbers(2, 3))
}

func TestASidecarTakesTheDevicesOfAnInitContainerBeforeItForGood(t *testing.T) {
	k := startKubelet(t)
	k.startAgent(npus)
	k.waitFor("64 of 64")

	pod := podOf("with-sidecar", 2)
	pod.Spec.InitContainers = []v1.Container{containerOf("prepare", 2), sidecarOf("sidecar", 1)}
	must(t, k.admit(pod))

	// kubelet gives the sidecar any of the first container's two devices, and the main container
	// the other one.
	equal(t, "prepare", k.expectGets(pod, pod.Spec.InitContainers[0]), numbers(0, 1))
	sidecar := k.expectGets(pod, pod.Spec.InitContainers[1])
	main := k.expectGets(pod, pod.Spec.Containers[0])
	equal(t, "sidecar and main", byNumber(slices.Concat(sidecar, main)), numbers(0, 2))
	_, rest := startPod(t, k, "rest", 61)
	equal(t, "the rest", rest, numbers(3, 63))
}

func TestContainersOfOnePodShareNothing(t *testing.T) {
	k := startKubelet(t)
	k.startAgent(npus)
	k.waitFor("64 of 64")

	pod := podOf("three", 2)
	pod.Spec.Containers = append(pod.Spec.Containers, containerOf("second", 3), containerOf("third", 1))
	must(t, k.admit(pod))

	var held []string
	for _, container := range pod.Spec.Containers {
		held = append(held, k.expectGets(pod, container)...)
	}
	equal(t, "devices of all containers", byNumber(held), numbers(0, 5))
}

func TestARestartedContainerGetsTheSameDevicesEachResetBefore(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(resettable)
	k.waitFor("64 of 64")

	pod, ids := startPod(t, k, "restarting", 2)
	for range 2 {
		equal(t, "devices after a restart", expectStarts(t, k, pod, 2), ids)
	}

	equal(t, "calls", append(a.metrics("tessera_pre_starts_total"), a.metrics("tessera_allocations_total")...),
		[]string{
			`tessera_pre_starts_total{resource="dummy.com/npu",code="ok"} 3`,
			`tessera_allocations_total{resource="dummy.com/npu",code="ok"} 1`,
		})
}

func TestAContainerDoesNotStartOnADeviceThatCannotBeReset(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(resettable)
	k.waitFor("64 of 64")
	pod, ids := startPod(t, k, "restarting", 2)

	a.fault("reset-fails", npu, ids[1], "stuck")

	_, err := k.startContainer(pod, pod.Spec.Containers[0])
	equal(t, "refusal", fmt.Sprint(err), "device plugin PreStartContainer rpc failed with err: rpc error: "+
		"code = Internal desc = dummy.com/npu: device 1 could not be reset: dummy.com/npu/1 cannot be "+
		"reset: stuck [reset-failed]: the container is retried by itself; if it keeps failing, cordon the "+
		"device with 'tessera devices cordon'")

	a.fault("heal", npu, ids[1])
	equal(t, "devices once it can", expectStarts(t, k, pod, 2), ids)
}

func TestAContainerRestartsWhileTheAgentIsAway(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus)
	k.waitFor("64 of 64")
	pod, ids := startPod(t, k, "restarting", 2)

	equal(t, "exit status", a.stop(), 0)
	k.waitFor("0 of 64")

	equal(t, "devices", expectStarts(t, k, pod, 2), ids)
}

func TestAContainerRestartsOnADeviceThatHasFailed(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus)
	k.waitFor("64 of 64")
	pod, ids := startPod(t, k, "restarting", 2)

	a.fault("fail", npu, ids[0])
	k.waitFor("63 of 64")

	equal(t, "devices", expectStarts(t, k, pod, 2), ids)
}
