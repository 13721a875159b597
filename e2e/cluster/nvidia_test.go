// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"tessera/e2e/nvidia"
)

const (
	gpu = v1.ResourceName("nvidia.com/gpu")

	printGPUs = `echo "$NVIDIA_VISIBLE_DEVICES"; `

	twoGPUs = `driver: "570.172.08"
defaults: {model: NVIDIA L4, memory: 23034, compute: "8.9"}
gpus:
- {uuid: GPU-0b7d5a44-6a1b-4c9e-8f0e-5a2f6b1d9c10, pci: "0000:31:00.0"}
- {uuid: GPU-93c1de07-2f5e-4b58-9a66-d0e1f7a2b3c4, pci: "0000:ca:00.0"}
`
)

// changeNode sets "labels" or "annotations" of the node. A nil value removes one.
func (c *cluster) changeNode(t *testing.T, what string, values map[string]any) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{what: values}})
	must(t, err)
	_, err = c.client.CoreV1().Nodes().Patch(context.Background(), nodeName, types.MergePatchType, patch,
		metav1.PatchOptions{})
	must(t, err)
}

// labelNode sets a label of the node. The test's end removes it.
func (c *cluster) labelNode(t *testing.T, label, value string) {
	t.Helper()
	t.Cleanup(func() { c.changeNode(t, "labels", map[string]any{label: nil}) })
	c.changeNode(t, "labels", map[string]any{label: value})
}

// installPlugin applies deploy/nvidia as shipped, on a node whose driver is installed as by a
// distribution.
func (c *cluster) installPlugin(t *testing.T) {
	t.Helper()
	c.installPluginWith(t, nil)
}

// installPluginWith does the same with an edit and further manifests.
func (c *cluster) installPluginWith(t *testing.T, change func(manifest), more ...manifest) {
	t.Helper()
	c.labelNode(t, "nvidia.com/gpu.present", "true")
	c.install(t, change, slices.Concat(c.readManifests(t, "nvidia/config.yaml"),
		c.rights(t, "nvidia"), c.readManifests(t, "nvidia/daemonset.yaml"), more)...)
}

// withGPUs makes a pod that asks for this many GPUs or shares and runs a script.
func withGPUs(name string, count int64, script string) *v1.Pod {
	pod := podOf(name, 0, script)
	if count > 0 {
		pod.Spec.Containers[0].Resources.Limits[gpu] = *resource.NewQuantity(count, resource.DecimalSI)
	}
	return pod
}

// waitForRunning waits until there are exactly this many pods and all run, and returns their names.
func (c *cluster) waitForRunning(t *testing.T, count int) (names []string) {
	t.Helper()
	eventuallyAll(t, func(ctx context.Context) (int, error) {
		list, err := c.pods().List(ctx, metav1.ListOptions{})
		if err != nil {
			return 0, err
		}
		names = nil
		for _, pod := range list.Items {
			if pod.Status.Phase == v1.PodRunning {
				names = append(names, pod.Name)
			} else {
				err = fmt.Errorf("%s is %s: %s", pod.Name, pod.Status.Phase, describe(&pod))
			}
		}
		if err == nil && len(names) != count {
			err = fmt.Errorf("there are %d pods, not %d", len(names), count)
		}
		return len(names), err
	})
	return names
}

// expectDeployment runs this many pods with one share each, and checks how many of them got each
// GPU. It starts them in parts, because a busy machine needs minutes for eighty at once.
func (c *cluster) expectDeployment(t *testing.T, count int, want map[string]int) {
	t.Helper()
	const part = 20
	template := withGPUs("", 1, printGPUs+stay)
	template.Spec.HostNetwork = true // a network of its own is the slowest part of a start
	c.deploy(t, int32(min(count, part)), template)
	for so := part; so < count; so += part {
		c.waitForRunning(t, so)
		c.scale(t, min(count, so+part))
	}
	told := map[string]int{}
	for _, name := range c.waitForRunning(t, count) {
		told[strings.TrimSpace(c.output(t, name))]++
	}
	equal(t, "pods by what they are told", told, want)
}

// processesNamed returns the node's processes whose command line begins with this name and these
// words.
func processesNamed(t *testing.T, name string, words ...string) (found []int) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	start := strings.Join(append([]string{name}, words...), "\x00") + "\x00"
	for _, path := range paths {
		if line, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(line), start) {
			id, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			must(t, err)
			found = append(found, id)
		}
	}
	return found
}

func TestTenPodsShareEachOfEightGPUsByAConfigMapOfNVIDIAs(t *testing.T) {
	c := theCluster(t)
	driver := nvidia.Install(t, "/", "8xa100")
	c.installPlugin(t)
	c.waitForResource(t, gpu, "80 of 80")

	want := map[string]int{}
	for _, uuid := range driver.UUIDs() {
		want[uuid] = 10
	}
	c.expectDeployment(t, 80, want)
}

func TestFourPodsAreSpreadOverTwoGPUsOfTenSharesEach(t *testing.T) {
	c := theCluster(t)
	driver := nvidia.InstallAs(t, "/", twoGPUs)
	c.installPlugin(t)
	c.waitForResource(t, gpu, "20 of 20")
	equal(t, "processes that NVIDIA's config-manager would signal", len(processesNamed(t, "nvidia-device-plugin")), 1)

	c.expectDeployment(t, 4, map[string]int{driver.UUID(0): 2, driver.UUID(1): 2})
}

// nvidiaRoot is the driver's root where the agent has a configuration of Tessera's own.
const nvidiaRoot = "/var/lib/e2e-nvidia"

func TestAPodThatNamesAllGPUsItselfFindsTheOneThatItWasGranted(t *testing.T) {
	c := theCluster(t)
	driver := nvidia.InstallAs(t, nvidiaRoot, twoGPUs)
	nodes := makeNodes(t, nvidiaRoot+"/dev", "nvidia0", "nvidia1", "nvidiactl")
	c.installAgent(t, serving(t, `resources:
  - name: nvidia.com/gpu
    nvidia: {driverRoot: `+nvidiaRoot+`, devRoot: `+nvidiaRoot+`}
`, nvidiaRoot))
	c.waitForResource(t, gpu, "2 of 2")
	const devices = "/var/run/nvidia-container-devices"
	script := `{ ` + printGPUs + `ls ` + devices + `; ls /dev | grep nvidia; ` +
		tryToOpen("nvidia0", nodes["nvidia0"]) + tryToOpen("nvidia1", nodes["nvidia1"]) +
		`} >/tmp/said 2>&1; cat /tmp/said; `

	var said []string
	for name, count := range map[string]int64{"one": 1, "other": 1, "none": 0} {
		pod := withGPUs(name, count, script+stay)
		pod.Spec.Containers[0].Env = []v1.EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES", Value: "all"}}
		c.create(t, pod)
		c.waitForPhase(t, name, v1.PodRunning)
		said = append(said, c.output(t, name))
	}

	slices.Sort(said)
	want := []string{
		"all\n" + driver.UUID(0) + "\nnvidia0\nnvidiactl\nnvidia0 opens\nnvidia1 does not open\n",
		"all\n" + driver.UUID(1) + "\nnvidia1\nnvidiactl\nnvidia0 does not open\nnvidia1 opens\n",
		"all\nls: " + devices + ": No such file or directory\nnvidia0 does not open\nnvidia1 does not open\n",
	}
	equal(t, "what the pods say", said, want)
}
