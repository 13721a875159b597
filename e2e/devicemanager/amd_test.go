// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/container"
)

const (
	amdGPU = "amd.com/gpu"

	amdVariable = "TESSERA_E2E_AMD" // amd_tree, which writes the files of a node

	// amdGPUs serves all AMD GPUs of a node, or their partitions.
	amdGPUs = `rootPrefix: DIRECTORY/node
kubelet:
  root: ` + kubeletRoot + `
resources:
  - name: amd.com/gpu
    amd: {}
`
)

// startAMD starts an agent on a simulated node, such as "mi300x".
func (k *kubelet) startAMD(hardware string) *tree {
	k.t.Helper()
	return k.startAMDWith(hardware, amdGPUs)
}

func (k *kubelet) startAMDWith(hardware, config string) *tree {
	k.t.Helper()
	return k.startOn(amdVariable, config, hardware)
}

// nodesOfAMD returns the device nodes of a grant: the common one, then those of each GPU by the
// numbers of its card and render node.
func nodesOfAMD(numbers ...[2]int) *devicemanager.DeviceRunContainerOptions {
	nodes := []container.DeviceInfo{node("/dev/kfd", "/dev/kfd", "rw")}
	for _, one := range numbers {
		for _, path := range []string{fmt.Sprint("/dev/dri/renderD", one[1]), fmt.Sprint("/dev/dri/card", one[0])} {
			nodes = append(nodes, node(path, path, "rw"))
		}
	}
	return &devicemanager.DeviceRunContainerOptions{Devices: nodes}
}

func TestEightMI300XAreGivenWithTheirNodesAndFourComeFromOneSocket(t *testing.T) {
	k := startKubelet(t)
	k.startAMD("mi300x")
	k.waitForResource(amdGPU, "8 of 8")

	pod := askingFor("four", amdGPU, 4)
	must(t, k.admit(pod))

	equal(t, "what the container gets", k.startMain(pod),
		nodesOfAMD([2]int{1, 128}, [2]int{9, 136}, [2]int{17, 144}, [2]int{25, 152}))
}

func TestTheVariableOfAMDsContainerToolkitComesBesideTheNodes(t *testing.T) {
	k := startKubelet(t)
	k.startAMDWith("mi300x", strings.ReplaceAll(amdGPUs, "amd: {}", "amd: {names: toolkit}"))
	k.waitForResource(amdGPU, "8 of 8")

	pod := askingFor("two", amdGPU, 2)
	must(t, k.admit(pod))

	want := nodesOfAMD([2]int{1, 128}, [2]int{9, 136})
	want.Envs = []container.EnvVar{{Name: "AMD_VISIBLE_DEVICES", Value: "0xE3AA140F9A5F9E31,0x2250F807CAF2231A"}}
	equal(t, "what the container gets", k.startMain(pod), want)
}

// HAMi's placements need an API server, so these shares are equal ones.
func TestContainersShareAnMI300XAndGetItsNodesOnce(t *testing.T) {
	k := startKubelet(t)
	node := k.startAMDWith("mi300x",
		strings.ReplaceAll(amdGPUs, "amd: {}", "amd: {}\n    policy: replicas\n    replicas: 2"))
	k.waitForResource(amdGPU, "16 of 16")

	most := askingFor("most", amdGPU, 15)
	must(t, k.admit(most))
	last := askingFor("last", amdGPU, 1)
	must(t, k.admit(last))

	equal(t, "device nodes of all", len(k.startMain(most).Devices), 1+2*8)
	given := k.startMain(last)
	equal(t, "device nodes of one", len(given.Devices), 1+2)
	for _, device := range given.Devices {
		if !slices.Contains(k.startMain(most).Devices, device) {
			t.Errorf("the other container lacks %v", device)
		}
	}
	node.change("mi300x", "lose", "3")
	k.waitForResource(amdGPU, "14 of 16")
}

func TestAGPUThatIsDividedAnewIsOfferedByItsParts(t *testing.T) {
	k := startKubelet(t)
	node := k.startAMD("mi300a")
	k.waitForResource(amdGPU, "4 of 4")

	node.change("mi300a", "compute", "0", "TPX")
	k.waitForResource(amdGPU, "6 of 6")

	node.change("mi300a", "compute", "1", "CPX")
	k.waitForResource(amdGPU, "11 of 11")
}

func TestPartitionsOfMI300XAreGivenByThemselves(t *testing.T) {
	k := startKubelet(t)
	k.startAMD("mi300x-cpx")
	k.waitForResource(amdGPU, "63 of 63")

	pod := askingFor("two", amdGPU, 2)
	must(t, k.admit(pod))

	devices := k.startMain(pod).Devices
	equal(t, "device nodes", len(devices), 5)
	equal(t, "the common one", devices[0].PathOnHost, "/dev/kfd")
}

func TestALostMI300XIsOutUntilItIsBack(t *testing.T) {
	k := startKubelet(t)
	node := k.startAMD("mi300x")
	k.waitForResource(amdGPU, "8 of 8")

	node.change("mi300x", "lose", "3")
	k.waitForResource(amdGPU, "7 of 8")

	node.change("mi300x", "return", "3")
	k.waitForResource(amdGPU, "8 of 8")
}

func TestTheFlagsOfROCmsPluginMakeAResourceOfEachProfile(t *testing.T) {
	k := startKubelet(t)
	a := k.newAgent(t.TempDir())
	node := &tree{t, amdVariable, a.path("node")}
	node.change("mi300x-cpx")
	a.startAs(func(command *exec.Cmd) {
		command.Args = []string{"k8s-device-plugin", "-logtostderr=true", "-v=5", "-resource_naming_strategy", "mixed"}
		command.Env = append(os.Environ(), "TESSERA_ROOT_PREFIX="+node.directory, "TESSERA_KUBELET_ROOT="+kubeletRoot,
			"TESSERA_STATE_DIR="+a.path("state"), "TESSERA_CONTROL_SOCKET="+a.path("agent.sock"), "TESSERA_HTTP_ADDRESS=off")
	})

	k.waitForResource("amd.com/cpx_nps1", "63 of 63")
}
