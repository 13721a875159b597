// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"k8s.io/kubernetes/pkg/kubelet/container"
)

const (
	nicVF = "example.com/vf"

	rdmaVariable = "TESSERA_E2E_RDMA" // rdma_tree, which writes the files of a node

	nicVFs = `rootPrefix: DIRECTORY/node
kubelet:
  root: ` + kubeletRoot + `
resources:
  - name: example.com/vf
    rdma: {function: vf, cni: true}
`

	sharedNICs = `rootPrefix: DIRECTORY/node
kubelet:
  root: ` + kubeletRoot + `
resources:
  - name: rdma/hca
    policy: replicas
    replicas: 3
    rdma: {function: pf}
`
)

// startRDMA starts an agent on the simulated node "two".
func (k *kubelet) startRDMA() *tree {
	k.t.Helper()
	return k.startOn(rdmaVariable, nicVFs, "two")
}

func TestAVirtualFunctionIsGivenWithItsNodesAndTheSRIOVPluginsVariables(t *testing.T) {
	k := startKubelet(t)
	k.startRDMA()
	k.waitForResource(nicVF, "4 of 4")

	pod := askingFor("all", nicVF, 4)
	must(t, k.admit(pod))

	granted := k.startMain(pod)
	functions := slices.IndexFunc(granted.Envs, func(one container.EnvVar) bool { return one.Name == "PCIDEVICE_EXAMPLE_COM_VF" })
	equal(t, "variables", len(granted.Envs), 2)
	equal(t, "functions", granted.Envs[functions].Value, "0000:af:00.1,0000:af:00.2,0000:af:00.3,0000:af:00.4")
	equal(t, "device nodes", granted.Devices[:3], []container.DeviceInfo{
		node("/dev/infiniband/uverbs2", "/dev/infiniband/uverbs2", "rw"),
		node("/dev/infiniband/umad2", "/dev/infiniband/umad2", "rw"),
		node("/dev/infiniband/rdma_cm", "/dev/infiniband/rdma_cm", "rw"),
	})
}

func TestAPulledCableTakesItsVirtualFunctionsOutUntilItIsBack(t *testing.T) {
	k := startKubelet(t)
	node := k.startRDMA()
	k.waitForResource(nicVF, "4 of 4")

	node.change("two", "cable", "0000:af:00.0", "off")
	k.waitForResource(nicVF, "0 of 4")

	node.change("two", "cable", "0000:af:00.0", "on")
	k.waitForResource(nicVF, "4 of 4")
}

func TestContainersShareACardThatTheHostKeeps(t *testing.T) {
	k := startKubelet(t)
	hardware := k.startOn(rdmaVariable, sharedNICs, "two")
	k.waitForResource("rdma/hca", "6 of 6")

	cards := []string{"/dev/infiniband/uverbs0", "/dev/infiniband/uverbs1"}
	for i := range 6 {
		pod := askingFor(fmt.Sprint("pod-", i), "rdma/hca", 1)
		must(t, k.admit(pod))
		card := cards[i%2] // each card in turn
		equal(t, "device nodes", k.startMain(pod).Devices, []container.DeviceInfo{
			node(card, card, "rw"),
			node(strings.Replace(card, "uverbs", "umad", 1), strings.Replace(card, "uverbs", "umad", 1), "rw"),
			node("/dev/infiniband/rdma_cm", "/dev/infiniband/rdma_cm", "rw"),
		})
	}
	hardware.change("two", "cable", "0000:af:00.0", "off")
	k.waitForResource("rdma/hca", "3 of 6")
}

func TestTheFilesOfBothNICPluginsServeTheirResources(t *testing.T) {
	for name, plugin := range map[string]struct{ file, units string }{
		"sriov":       {`{"resourceList": [{"resourceName": "a", "resourcePrefix": "example.com", "selectors": {"isRdma": true}}]}`, "5 of 5"},
		"rdma-shared": {`{"configlist": [{"resourceName": "a", "resourcePrefix": "example.com", "rdmaHcaMax": 3, "selectors": {"vendors": ["15b3"]}}]}`, "18 of 18"},
	} {
		t.Run(name, func(t *testing.T) {
			k := startKubelet(t)
			a := k.newAgent(t.TempDir())
			node := &tree{t, rdmaVariable, a.path("node")}
			node.change("two")
			must(t, os.WriteFile(a.path("config.json"), []byte(plugin.file), 0o600))
			a.startAs(func(command *exec.Cmd) {
				command.Args = []string{"tessera", "agent", name, "-config-file=" + a.path("config.json")}
				command.Env = append(os.Environ(), "TESSERA_ROOT_PREFIX="+node.directory, "TESSERA_KUBELET_ROOT="+kubeletRoot,
					"TESSERA_STATE_DIR="+a.path("state"), "TESSERA_CONTROL_SOCKET="+a.path("agent.sock"), "TESSERA_HTTP_ADDRESS=off")
			})
			k.waitForResource("example.com/a", plugin.units)
		})
	}
}
