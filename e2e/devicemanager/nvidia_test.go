// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/container"
	"tessera/e2e/nvidia"
)

const gpu = "nvidia.com/gpu"

// gpus serves all GPUs of a node as whole devices. A variable names a container's GPUs.
const gpus = `rootPrefix: DIRECTORY/node
kubelet:
  root: ` + kubeletRoot + `
resources:
  - name: nvidia.com/gpu
    strategies: [envvar]
    nvidia: {}
`

// startGPUs starts an agent on a node of demo/hardware, such as "8xa100".
func (k *kubelet) startGPUs(hardware, rest string) (*agent, *nvidia.Driver) {
	k.t.Helper()
	a := k.newAgent(k.t.TempDir())
	driver := nvidia.Install(k.t, a.path("node"), hardware)
	driver.ShowDevices()
	a.configure(rest)
	a.start()
	return a, driver
}

// visibleGPUs returns the whole grant of a container with these GPUs by the variable.
func visibleGPUs(uuids ...string) *devicemanager.DeviceRunContainerOptions {
	return &devicemanager.DeviceRunContainerOptions{
		Envs: []container.EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES", Value: strings.Join(uuids, ",")}},
	}
}

// nodesOfGPUs returns the device nodes of GPUs: the common ones, then their own.
func nodesOfGPUs(gpus ...int) []container.DeviceInfo {
	var nodes []container.DeviceInfo
	add := func(path string) { nodes = append(nodes, node(path, path, "rw")) }
	for _, path := range []string{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"} {
		add(path)
	}
	for _, index := range gpus {
		add(fmt.Sprint("/dev/nvidia", index))
	}
	return nodes
}

// startGPUPod admits a pod that asks for this many GPUs or shares, starts its container and returns
// its grant.
func (k *kubelet) startGPUPod(name string, count int64) (*v1.Pod, *devicemanager.DeviceRunContainerOptions) {
	k.t.Helper()
	pod := askingFor(name, gpu, count)
	must(k.t, k.admit(pod))
	return pod, k.startMain(pod)
}

// noneLeft is kubelet's refusal of a pod that asks for a GPU when all are held or unhealthy.
const noneLeft = "UnexpectedAdmissionError: Allocate failed due to requested number of devices unavailable for " +
	"nvidia.com/gpu. Requested: 1, Available: 0, which is unexpected"

func TestEightGPUsAreAllocatableByTheirUUIDsEachNearItsNUMANode(t *testing.T) {
	k := startKubelet(t)
	_, driver := k.startGPUs("8xa100", gpus)
	k.waitForResource(gpu, "8 of 8")

	near := map[string][]int64{}
	for id, device := range k.manager.GetAllocatableDevices()[gpu] {
		for _, node := range device.Topology.Nodes {
			near[id] = append(near[id], node.ID)
		}
	}

	want := map[string][]int64{}
	for index, node := range []int64{3, 3, 1, 1, 7, 7, 5, 5} {
		want[driver.UUID(index)] = []int64{node}
	}
	equal(t, "NUMA nodes by device", near, want)
	_, gets := k.startGPUPod("all", 8)
	equal(t, "what a pod with all gets", gets, visibleGPUs(driver.UUIDs()...))
}

func TestAQuadAndAPairOfGPUsShareNVLinks(t *testing.T) {
	k := startKubelet(t)
	_, driver := k.startGPUs("8xv100", gpus)
	k.waitForResource(gpu, "8 of 8")

	_, quad := k.startGPUPod("quad", 4)
	_, pair := k.startGPUPod("pair", 2)

	equal(t, "the quad", quad, visibleGPUs(driver.UUIDs(4, 5, 6, 7)...))
	equal(t, "the pair", pair, visibleGPUs(driver.Pick(6, 7)...))
}

func TestAPairOfGPUsThatIsBoundToOneNUMANodeSharesTwoNVLinksThere(t *testing.T) {
	k := startKubeletWith(t, topologymanager.PolicySingleNumaNode)
	_, driver := k.startGPUs("8xv100", gpus)
	k.waitForResource(gpu, "8 of 8")

	// GPUs 0 and 4 share two NVLinks as well, across the machine.
	_, first := k.startGPUPod("first", 1)
	_, pair := k.startGPUPod("pair", 2)
	refusal := k.admit(askingFor("five", gpu, 5))

	equal(t, "the first", first, visibleGPUs(driver.UUID(0)))
	equal(t, "the pair", pair, visibleGPUs(driver.Pick(2, 3)...))
	equal(t, "refusal of five", fmt.Sprint(refusal), notAligned)
}

func TestAGPUComesWithAMountThatNamesItAndItsNodesWhereNothingElseIsConfigured(t *testing.T) {
	k := startKubelet(t)
	_, driver := k.startGPUs("8xa100", strings.Replace(gpus, "    strategies: [envvar]\n", "", 1))
	k.waitForResource(gpu, "8 of 8")

	_, gets := k.startGPUPod("two", 2)

	const directory = "/var/run/nvidia-container-devices"
	want := visibleGPUs(directory)
	want.Mounts = []container.Mount{
		mount("/dev/null", directory+"/"+driver.UUID(0), false),
		mount("/dev/null", directory+"/"+driver.UUID(1), false),
	}
	want.Devices = nodesOfGPUs(0, 1)
	equal(t, "what a pod gets", gets, want)
}

func TestMIGProfilesAreResourcesBesideWholeGPUs(t *testing.T) {
	k := startKubelet(t)
	_, driver := k.startGPUs("8xh100-mig", gpus+
		"  - {name: nvidia.com/mig-1g.10gb, strategies: [envvar], nvidia: {mig: 1g.10gb}}\n"+
		"  - {name: nvidia.com/mig-3g.40gb, strategies: [envvar], nvidia: {mig: 3g.40gb}}\n")
	k.waitForResource(gpu, "6 of 6")
	k.waitForResource("nvidia.com/mig-1g.10gb", "9 of 9")
	k.waitForResource("nvidia.com/mig-3g.40gb", "1 of 1")

	small := askingFor("small", "nvidia.com/mig-1g.10gb", 9)
	must(t, k.admit(small))
	large := askingFor("large", "nvidia.com/mig-3g.40gb", 1)
	must(t, k.admit(large))
	_, whole := k.startGPUPod("whole", 6)

	equal(t, "all small instances", k.startMain(small), visibleGPUs(driver.MIGs("1g.10gb")...))
	equal(t, "the large one", k.startMain(large), visibleGPUs(driver.MIGs("3g.40gb")...))
	equal(t, "all whole GPUs", whole, visibleGPUs(driver.UUIDs(6, 7)...))
}
