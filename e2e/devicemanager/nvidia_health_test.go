// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"tessera/e2e/nvidia"
)

const fellOffTheBus = "events: [{gpu: 3, xid: 79}]\n"

// startWatchedGPUs starts an agent that watches the driver's XID events, and waits for these counts
// of devices.
func startWatchedGPUs(t *testing.T, rest, counts string) (*kubelet, *agent, *nvidia.Driver) {
	t.Helper()
	k := startKubelet(t)
	a, driver := k.startGPUs("8xa100", rest)
	k.waitForResource(gpu, counts)
	a.waitToSay("events of GPUs are watched gpus=8")
	return k, a, driver
}

// reasonOf returns the reason why a device is unhealthy, from `tessera devices -o json`.
func (a *agent) reasonOf(id string) string {
	a.t.Helper()
	var answer struct{ Devices []struct{ ID, Reason string } }
	must(a.t, json.Unmarshal([]byte(a.tessera("devices", "-o", "json")), &answer))
	for _, device := range answer.Devices {
		if device.ID == id {
			return device.Reason
		}
	}
	return "there is no such device"
}

func (a *agent) waitForReason(id, reason string) {
	a.t.Helper()
	eventually(a.t, func() error {
		if now := a.reasonOf(id); now != reason {
			return fmt.Errorf("the reason of %s is %q, not %q", id, now, reason)
		}
		return nil
	})
}

// waitForGoodChecks waits until the eight GPUs have passed eighty further checks.
func (a *agent) waitForGoodChecks() {
	a.t.Helper()
	const series = `tessera_health_checks_total{resource="nvidia.com/gpu",result="good"} `
	passed := func() int {
		for _, metric := range a.metrics(series) {
			count, err := strconv.Atoi(strings.TrimPrefix(metric, series))
			must(a.t, err)
			return count
		}
		return 0
	}
	wanted := passed() + 8*10
	eventually(a.t, func() error {
		if so := passed(); so < wanted {
			return fmt.Errorf("%d checks passed, not %d", so, wanted)
		}
		return nil
	})
}

// expectOnlySick checks that one GPU of eight is unhealthy and stays so, although its checks pass.
// A pod must get all others, and the next pod none.
func (k *kubelet) expectOnlySick(a *agent, driver *nvidia.Driver, index int, reason string) {
	k.t.Helper()
	k.waitForResource(gpu, "7 of 8")
	a.waitForGoodChecks()
	k.waitForResource(gpu, "7 of 8")
	equal(k.t, "why it is sick", a.reasonOf(driver.UUID(index)), reason)
	pod, gets := k.startGPUPod("all-that-work", 7)
	equal(k.t, "what a pod with all that work gets", gets, visibleGPUs(driver.UUIDs(index)...))
	equal(k.t, "refusal of one more", fmt.Sprint(k.admit(askingFor("one-more", gpu, 1))), noneLeft)
	k.pods.remove(pod)
}

// reset simulates a reset: the driver loses the GPU, and then has it again.
func (k *kubelet) reset(a *agent, driver *nvidia.Driver, index int, events string) {
	k.t.Helper()
	driver.Break(events + fmt.Sprintf("gpus: {%d: {lost: true}}", index))
	a.waitForReason(driver.UUID(index), "device-lost")
	driver.Break(events)
}

func TestAGPUThatFellOffTheBusIsWithheldUntilItWasReset(t *testing.T) {
	k, a, driver := startWatchedGPUs(t, gpus, "8 of 8")

	driver.Break(fellOffTheBus)
	k.expectOnlySick(a, driver, 3, "xid")

	k.reset(a, driver, 3, fellOffTheBus)
	k.waitForResource(gpu, "8 of 8")
	_, gets := k.startGPUPod("all", 8)
	equal(t, "what a pod with all gets", gets, visibleGPUs(driver.UUIDs()...))
}

func TestAnXIDOfASharedGPUWithholdsAllItsSharesAndNoOther(t *testing.T) {
	k, a, driver := startWatchedGPUs(t,
		strings.Replace(gpus, "    nvidia:", "    policy: replicas\n    replicas: 4\n    nvidia:", 1), "32 of 32")

	driver.Break(fellOffTheBus)
	k.waitForResource(gpu, "28 of 32")
	_, gets := k.startGPUPod("all-that-work", 28)
	equal(t, "what a pod with all that work gets", gets, visibleGPUs(driver.UUIDs(3)...))

	k.reset(a, driver, 3, fellOffTheBus)
	k.waitForResource(gpu, "32 of 32")
}

func TestPodsAreAdmittedWhileAGPUIsLostAndItsOwnPodKeepsIt(t *testing.T) {
	k, _, driver := startWatchedGPUs(t, gpus, "8 of 8")
	holder, before := k.startGPUPod("holder", 4)
	equal(t, "what the first pod gets", before, visibleGPUs(driver.UUIDs(4, 5, 6, 7)...))

	driver.Break("gpus: {3: {lost: true}, 7: {lost: true}}")
	k.waitForResource(gpu, "6 of 8")

	_, pair := k.startGPUPod("pair", 2)
	equal(t, "what a pair gets", pair, visibleGPUs(driver.Pick(4, 5)...))
	_, last := k.startGPUPod("last", 1)
	equal(t, "what the last gets", last, visibleGPUs(driver.UUID(6)))
	equal(t, "refusal of one more", fmt.Sprint(k.admit(askingFor("one-more", gpu, 1))), noneLeft)
	equal(t, "what the first pod gets after a restart", k.startMain(holder), before)

	driver.Break("")
	k.waitForResource(gpu, "8 of 8")
	_, back := k.startGPUPod("back", 1)
	equal(t, "what a pod gets now", back, visibleGPUs(driver.UUID(7)))
}

func TestASickGPUStaysSickWhenKubeletRestarts(t *testing.T) {
	k, a, driver := startWatchedGPUs(t, gpus, "8 of 8")
	driver.Break(fellOffTheBus)
	k.waitForResource(gpu, "7 of 8")

	k.stop()
	k.start()
	k.expectOnlySick(a, driver, 3, "xid")

	k.reset(a, driver, 3, fellOffTheBus)
	k.waitForResource(gpu, "8 of 8")
}

func TestASickGPUStaysSickWhenTheAgentIsRestartedOrKilled(t *testing.T) {
	k, a, driver := startWatchedGPUs(t, gpus, "8 of 8")
	driver.Break(fellOffTheBus)
	k.waitForResource(gpu, "7 of 8")

	equal(t, "exit status", a.stop(), 0)
	k.waitForResource(gpu, "0 of 8")
	driver.Break("") // no event is left that could make it unhealthy again
	a.start()
	k.expectOnlySick(a, driver, 3, "xid")
	a.kill()
	k.waitForResource(gpu, "0 of 8")
	a.start()
	k.expectOnlySick(a, driver, 3, "xid")

	k.reset(a, driver, 3, "")
	k.waitForResource(gpu, "8 of 8")
}

func TestGPUsComeWithTheirDriver(t *testing.T) {
	k := startKubelet(t)
	a, driver := k.startGPUs("8xa100", gpus)
	k.waitForResource(gpu, "8 of 8")
	pod, before := k.startGPUPod("holder", 2)

	driver.Break("driver: {fail: {all: 9}}") // the driver is not loaded
	k.waitForResource(gpu, "0 of 8")
	equal(t, "what the pod gets after a restart", k.startMain(pod), before)

	driver.Break("")
	k.waitForResource(gpu, "8 of 8")
	a.expectAlive()
}
