// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// These are kube-scheduler's reasons for a pod if the node has too few NPUs free, or too few in
// all.
const (
	tooFew = "0/1 nodes are available: 1 Insufficient dummy.com/npu. no new claims to deallocate, " +
		"preemption: 0/1 nodes are available: 1 "
	tooFewNow = tooFew + "No preemption victims found for incoming pod."
	tooFewAll = tooFew + "Preemption is not helpful for scheduling."
)

func TestThePodOfTheExamplePrintsItsTwoIDs(t *testing.T) {
	c := theCluster(t)
	c.installAgent(t, nil)
	c.waitForDevices(t, "64 of 64")

	for _, m := range c.readManifests(t, "examples/pod.yaml") {
		m.apply(t)
	}

	c.waitForPhase(t, "two-npus", v1.PodSucceeded)
	equal(t, "what the pod prints", c.output(t, "two-npus"), "DUMMY_VISIBLE_DEVICES=0,1\n")
}

func Test32PodsShareAllDevicesAndThe33rdRunsWhenOneHasEnded(t *testing.T) {
	c := theCluster(t)
	c.installAgent(t, nil)
	c.waitForDevices(t, "64 of 64")

	var names, held []string
	for n := range 32 {
		pod := podOf(fmt.Sprintf("pod-%d", n), 2, printIDsAndStay)
		c.create(t, pod)
		names = append(names, pod.Name)
	}
	given := map[string][]string{}
	for _, name := range names {
		c.waitForPhase(t, name, v1.PodRunning)
		given[name] = listed(c.output(t, name))
		held = append(held, given[name]...)
	}
	equal(t, "devices held by all", byNumber(held), numbers(0, 63))

	late := podOf("late", 2, printIDs)
	c.create(t, late)
	equal(t, "why the 33rd pod waits", c.waitForUnschedulable(t, late.Name), tooFewNow)

	_, err := c.run(t.Context(), c.pod(t, names[7]), "sh", "-c", tellToEnd)
	must(t, err)
	c.waitForPhase(t, names[7], v1.PodSucceeded)

	c.waitForPhase(t, late.Name, v1.PodSucceeded)
	equal(t, "devices of the 33rd pod", listed(c.output(t, late.Name)), given[names[7]])
}

func TestAPodThatAsksFor65DevicesStaysPending(t *testing.T) {
	c := theCluster(t)
	c.installAgent(t, nil)
	c.waitForDevices(t, "64 of 64")

	c.create(t, podOf("too-many", 65, printIDs))

	equal(t, "why the pod waits", c.waitForUnschedulable(t, "too-many"), tooFewAll)
}

func TestTheAgentServesAllDevicesWithin64MiB(t *testing.T) {
	c := theCluster(t)
	c.installAgent(t, nil)
	c.waitForDevices(t, "64 of 64")

	c.create(t, podOf("all", 64, printIDs))
	c.waitForPhase(t, "all", v1.PodSucceeded)

	agent := c.waitForAgent(t).Status.ContainerStatuses[0]
	equal(t, "the memory limit in force", agent.Resources.Limits.Memory().String(), "64Mi")
	equal(t, "restarts under it", agent.RestartCount, int32(0))
}
