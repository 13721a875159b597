// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// startHolders starts 8 pods with 2 NPUs each, and returns them with their ids.
func (c *cluster) startHolders(t *testing.T) (pods []*v1.Pod, held []string) {
	t.Helper()
	for n := range 8 {
		c.create(t, podOf(fmt.Sprintf("holder-%d", n), 2, printIDsAndStay))
	}
	for n := range 8 {
		pod := c.waitForPhase(t, fmt.Sprintf("holder-%d", n), v1.PodRunning)
		pods = append(pods, pod)
		held = append(held, listed(c.output(t, pod.Name))...)
	}
	return pods, held
}

// expectUntouched checks that the pods run unchanged, and that a pod which asks for all other
// devices gets exactly those.
func (c *cluster) expectUntouched(t *testing.T, pods []*v1.Pod, held []string) {
	t.Helper()
	c.waitForAgent(t)
	c.waitForDevices(t, "64 of 64")
	c.create(t, podOf("rest", 48, printIDs))
	c.waitForPhase(t, "rest", v1.PodSucceeded)
	both := slices.Concat(held, listed(c.output(t, "rest")))
	equal(t, "devices of all pods", byNumber(both), numbers(0, 63))
	for _, before := range pods {
		equal(t, "a pod", lifeOf(c.pod(t, before.Name)), lifeOf(before))
	}
}

// expectKept checks that pods keep their devices when a program of the node gets the signal and
// starts again.
func expectKept(t *testing.T, program string, signal syscall.Signal) {
	t.Helper()
	c := theCluster(t)
	c.installAgent(t, nil)
	c.waitForDevices(t, "64 of 64")
	pods, held := c.startHolders(t)

	must(t, c.restart(program, signal))

	c.expectUntouched(t, pods, held)
}

func TestPodsKeepTheirDevicesWhenKubeletRestarts(t *testing.T) {
	expectKept(t, "kubelet", syscall.SIGTERM)
}

func TestPodsKeepTheirDevicesWhenKubeletIsKilled(t *testing.T) {
	expectKept(t, "kubelet", syscall.SIGKILL)
}

func TestPodsKeepTheirDevicesWhenContainerdRestarts(t *testing.T) {
	expectKept(t, "containerd", syscall.SIGKILL)
}
