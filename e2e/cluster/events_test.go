// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"tessera/e2e/nvidia"
)

const condition = v1.NodeConditionType("DevicesUnhealthy")

// told is the visible part of an event.
type told struct{ About, Type, Reason, Message string }

// expectEvents waits until the agent's events about the node and the pod are exactly these, in any
// order. It selects events by the object's UID, as `kubectl describe` does.
func (c *cluster) expectEvents(t *testing.T, pod *v1.Pod, want ...told) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		list, err := c.client.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var got []told
		for _, event := range list.Items {
			about := event.InvolvedObject
			if event.Source.Component != "tessera" ||
				(about.UID != nodeName && about.UID != pod.UID) {
				continue
			}
			got = append(got, told{about.Kind + " " + about.Name, event.Type, event.Reason, event.Message})
		}
		byAll := func(a, b told) int { return slices.Compare(a.words(), b.words()) }
		slices.SortFunc(got, byAll)
		slices.SortFunc(want, byAll)
		if !reflect.DeepEqual(got, want) {
			return fmt.Errorf("the events are %+v, not %+v", got, want)
		}
		return nil
	})
}

func (e told) words() []string { return []string{e.About, e.Type, e.Reason, e.Message} }

// removeEvents deletes the events of earlier tests.
func (c *cluster) removeEvents(t *testing.T) {
	t.Helper()
	must(t, c.client.CoreV1().Events(metav1.NamespaceDefault).
		DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
}

// waitForCondition waits until the node has this condition. kubelet's own Ready condition must stay
// true.
func (c *cluster) waitForCondition(t *testing.T, status v1.ConditionStatus, reason, message string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		node, err := c.node(ctx)
		if err != nil {
			return err
		}
		found, ready := v1.NodeCondition{}, v1.ConditionUnknown
		for _, one := range node.Status.Conditions {
			switch one.Type {
			case condition:
				found = one
			case v1.NodeReady:
				ready = one.Status
			}
		}
		got := []string{string(found.Status), found.Reason, found.Message, string(ready)}
		want := []string{string(status), reason, message, string(v1.ConditionTrue)}
		if !reflect.DeepEqual(got, want) {
			return fmt.Errorf("the condition is %q, not %q", got, want)
		}
		return nil
	})
}

// printMemory prints the resident memory of the agent that runs as nvidia-device-plugin.
func printMemory(t *testing.T) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	for _, path := range paths {
		words, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(words), "nvidia-device-plugin\x00") {
			continue
		}
		status, err := os.ReadFile(filepath.Join(filepath.Dir(path), "status"))
		must(t, err)
		for line := range strings.Lines(string(status)) {
			if size, found := strings.CutPrefix(line, "VmRSS:"); found {
				fmt.Printf("measured the agent's memory with an API server: %s\n", strings.TrimSpace(size))
			}
		}
	}
}

// watchedGPU is a GPU of which one pod holds a share, with the expected events of its failure and
// return.
type watchedGPU struct {
	index  int
	holder *v1.Pod
	driver *nvidia.Driver
	falls  []told
	comes  []told
	why    string
}

const whatXID79Means = "XID 79: the GPU has fallen off the bus; reset the GPU [xid]: find the XID in " +
	"docs/reference/xids.md: its class says whether to wait, reset or reboot"

func (c *cluster) watchGPU(t *testing.T) *watchedGPU {
	t.Helper()
	driver := nvidia.InstallAs(t, "/", twoGPUs)
	c.removeEvents(t)
	c.installPlugin(t)
	c.waitForResource(t, gpu, "20 of 20")
	c.create(t, withGPUs("holder", 1, printGPUs+stay))
	c.waitForPhase(t, "holder", v1.PodRunning)
	id := listed(c.output(t, "holder"))[0]
	c.waitForLedger(t, held{Resource: string(gpu), Namespace: "default", Pod: "holder", Container: "main",
		Shares: []string{id + "::0"}})
	device := "device nvidia.com/gpu/" + id
	w := &watchedGPU{index: slices.Index(driver.UUIDs(), id), holder: c.pod(t, "holder"), driver: driver}
	w.why = device[len("device "):] + "; " + whatXID79Means
	w.falls = []told{
		{"Node " + nodeName, "Warning", "DeviceUnhealthy", device + " is unhealthy: " + whatXID79Means},
		{"Pod holder", "Warning", "DeviceUnhealthy", device + " is unhealthy: " + whatXID79Means},
	}
	w.comes = []told{
		{"Node " + nodeName, "Normal", "DeviceHealthy", device + " is healthy again"},
		{"Pod holder", "Normal", "DeviceHealthy", device + " is healthy again"},
	}
	return w
}

func (w *watchedGPU) fall() {
	w.driver.Break(fmt.Sprintf("events: [{gpu: %d, xid: 79}]\n", w.index))
}

func (w *watchedGPU) comeBack(t *testing.T, c *cluster) {
	t.Helper()
	c.reset(t, w.driver, w.index)
}

// reset simulates the reset of a GPU with XID 79: the driver loses the GPU, then has it again. The
// agent must see the loss in between.
func (c *cluster) reset(t *testing.T, driver *nvidia.Driver, index int) {
	t.Helper()
	event := fmt.Sprintf("events: [{gpu: %d, xid: 79}]\n", index)
	driver.Break(event + fmt.Sprintf("gpus: {%d: {lost: true}}", index))
	eventually(t, func(context.Context) error {
		text := c.tessera(t, "explain", driver.UUID(index))
		if !strings.Contains(text, "device-lost") {
			return fmt.Errorf("the agent says: %s", text)
		}
		return nil
	})
	driver.Break(event)
}

func TestAnXIDIsAnEventOnNodeAndPodAndAConditionUntilTheGPUIsBack(t *testing.T) {
	c := theCluster(t)
	w := c.watchGPU(t)
	c.waitForCondition(t, v1.ConditionFalse, "DevicesHealthy", "no device is unhealthy")

	w.fall()
	c.waitForResource(t, gpu, "10 of 20")
	c.expectEvents(t, w.holder, w.falls...)
	c.waitForCondition(t, v1.ConditionTrue, "DeviceUnhealthy", "1 of 2 devices unhealthy: "+w.why)

	w.comeBack(t, c)
	c.waitForResource(t, gpu, "20 of 20")
	c.expectEvents(t, w.holder, append(w.falls, w.comes...)...)
	printMemory(t)
	c.waitForCondition(t, v1.ConditionFalse, "DevicesHealthy", "no device is unhealthy")
}

func TestPodsGetGPUsWhileTheAPIServerIsGoneForAMinuteAndEventsArriveOnceAfterIt(t *testing.T) {
	c := theCluster(t)
	w := c.watchGPU(t)
	c.waitForCondition(t, v1.ConditionFalse, "DevicesHealthy", "no device is unhealthy")

	c.closeService()
	begun := time.Now()
	w.fall()
	c.waitForResource(t, gpu, "10 of 20")
	for n := 0; time.Since(begun) < time.Minute; n++ {
		name := fmt.Sprintf("meanwhile-%d", n)
		c.create(t, withGPUs(name, 1, printGPUs))
		c.waitForPhase(t, name, v1.PodSucceeded)
		equal(t, "what a pod gets meanwhile", c.output(t, name), w.driver.UUID(1-w.index)+"\n")
	}
	must(t, c.openService())

	c.expectEvents(t, w.holder, w.falls...)
	c.waitForCondition(t, v1.ConditionTrue, "DeviceUnhealthy", "1 of 2 devices unhealthy: "+w.why)
}
