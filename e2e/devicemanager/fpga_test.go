// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/container"
)

const (
	loopbackAFU = "fpga.intel.com/af-ce4.d84.zkiWk5jwXzOUbVYHCL4QithCTcSko8QT-J5DNoP5BAs"
	region      = "fpga.intel.com/region-ce48969398f05f33946d560708be108a"
	u250Shell   = "amd.com/xilinx_u250_gen3x16_xdma_shell_4_1-0"

	fpgaVariable = "TESSERA_E2E_FPGA" // fpga_tree, which writes the files of a node

	// fpgas serves the FPGAs of both vendors by what they are.
	fpgas = `rootPrefix: DIRECTORY/node
kubelet:
  root: ` + kubeletRoot + `
resources:
  - name: fpga.intel.com/{profile}
    fpga: {vendor: intel}
  - name: amd.com/{profile}
    fpga: {vendor: xilinx}
`

	// regions serves Intel's cards, which a hook programs for each container.
	regions = `rootPrefix: DIRECTORY/node
kubelet:
  root: ` + kubeletRoot + `
resources:
  - name: fpga.intel.com/{profile}
    strategies: [cdi-cri]
    cdi: {kind: tessera.dev/intel-region, dir: /cdi}
    fpga: {vendor: intel, mode: region}
`
)

// startFPGA starts an agent on a simulated node, such as "pac".
func (k *kubelet) startFPGA(hardware, configuration string) *tree {
	k.t.Helper()
	return k.startOn(fpgaVariable, configuration, hardware)
}

func TestAPortOfAnFPGAIsGivenByTheNameOfItsFunction(t *testing.T) {
	k := startKubelet(t)
	k.startFPGA("pac", fpgas)
	k.waitForResource(loopbackAFU, "3 of 3")

	pod := askingFor("all", loopbackAFU, 3)
	must(t, k.admit(pod))

	var devices []container.DeviceInfo
	for _, path := range []string{"/dev/dfl-port.0", "/dev/dfl-port.1", "/dev/dfl-port.2"} {
		devices = append(devices, node(path, path, "rw"))
	}
	equal(t, "what the container gets", k.startMain(pod), &devicemanager.DeviceRunContainerOptions{Devices: devices})
}

func TestARegionOfAnFPGAIsGivenWithIntelsHook(t *testing.T) {
	k := startKubelet(t)
	node := k.startFPGA("pac", regions)
	k.waitForResource(region, "2 of 2")

	pod := askingFor("one", region, 1)
	must(t, k.admit(pod))

	equal(t, "names of CDI devices", len(k.startMain(pod).CDIDevices), 1)
	files, err := filepath.Glob(node.directory + "/cdi/*")
	must(t, err)
	var documents strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		documents.Write(text)
	}
	for _, want := range []string{"createRuntime", "/opt/intel/fpga-sw/intel-fpga-crihook", "/dev/dfl-port."} {
		if !strings.Contains(documents.String(), want) {
			t.Errorf("no CDI document has %s: %s", want, documents.String())
		}
	}
}

func TestAnFPGAIsOutWhileItIsLost(t *testing.T) {
	k := startKubelet(t)
	node := k.startFPGA("pac", fpgas)
	k.waitForResource(loopbackAFU, "3 of 3")

	node.change("pac", "lose", "0")
	k.waitForResource(loopbackAFU, "2 of 3")

	node.change("pac", "return", "0")
	k.waitForResource(loopbackAFU, "3 of 3")
}

func TestAnAlveoCardThatLoadsItsShellReturns(t *testing.T) {
	k := startKubelet(t)
	node := k.startFPGA("alveo", fpgas)
	k.waitForResource(u250Shell, "1 of 1")

	node.change("alveo", "load", "0")
	k.waitForResource(u250Shell, "0 of 1")

	node.change("alveo", "loaded", "0", "xilinx_u250_gen3x16_xdma_shell_4_1")
	k.waitForResource(u250Shell, "1 of 1")
}
