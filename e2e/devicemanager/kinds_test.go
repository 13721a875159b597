// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"maps"
	"os"
	"testing"

	v1 "k8s.io/api/core/v1"
	"tessera/e2e/nvidia"
)

// allKinds serves devices of each kind on one node, and pairs of two of them.
const allKinds = `rootPrefix: DIRECTORY/node
kubelet:
  root: ` + kubeletRoot + `
resources:
  - {name: nvidia.com/gpu, strategies: [envvar], nvidia: {}}
  - {name: amd.com/gpu, amd: {}}
  - {name: huawei.com/Ascend910B3, ascend: {}}
  - {name: rdma/hca, rdma: {}}
  - {name: example.com/gpu-nic, pair: {gpu: amd.com/gpu, nic: rdma/hca}}
  - {name: fpga.intel.com/function, fpga: {vendor: intel}}
  - {name: dummy.com/npu, dummy: {count: 4}}
  - {name: example.com/key, files: {groups: [{paths: [{path: /dev/key, mount: true}]}]}}
`

// healthy has the counts of all kinds: "8 of 8".
type healthy map[v1.ResourceName]string

func TestAKindThatFailsCostsTheOthersOfItsNodeNothing(t *testing.T) {
	k := startKubelet(t)
	a := k.newAgent(t.TempDir())
	gpus := nvidia.Install(t, a.path("node"), "8xa100")
	gpus.ShowDevices()
	simulated := func(variable string) *tree { return &tree{t, variable, a.path("node")} }
	amd, npus := simulated(amdVariable), simulated(ascendVariable)
	nics, fpgas := simulated(rdmaVariable), simulated(fpgaVariable)
	amd.change("mi300x-switches")
	npus.change("8x910b3")
	nics.change("pairs")
	fpgas.change("pac")
	key := a.path("node/dev/key")
	must(t, os.WriteFile(key, nil, 0o600))
	a.configure(allKinds)
	a.start()
	counts := healthy{gpu: "8 of 8", amdGPU: "8 of 8", ascendNPU: "8 of 8", "rdma/hca": "8 of 8", pairOf: "8 of 8",
		"fpga.intel.com/function": "3 of 3", "dummy.com/npu": "4 of 4", "example.com/key": "1 of 1"}
	expect := func(changed healthy) {
		t.Helper()
		maps.Copy(counts, changed)
		for resource, count := range counts {
			k.waitForResource(resource, count)
		}
	}
	expect(nil)

	gpus.Break("gpus: {0: {lost: true}, 1: {hang: all}}\n")
	expect(healthy{gpu: "7 of 8"})
	npus.change("8x910b3", "health", "3", "3", "0x80E01801", "tell", "3", "0x80E01801", "3", "1")
	expect(healthy{ascendNPU: "7 of 8"})
	nics.change("pairs", "cable", "0000:15:00.0", "off")
	expect(healthy{"rdma/hca": "7 of 8", pairOf: "7 of 8"})
	fpgas.change("pac", "lose", "0")
	expect(healthy{"fpga.intel.com/function": "2 of 3"})
	must(t, os.Remove(key))
	expect(healthy{"example.com/key": "0 of 0"})
	amd.change("mi300x-switches", "remove-driver")
	expect(healthy{amdGPU: "0 of 8", pairOf: "0 of 8"})
	// kubelet drops a pod that has ended when it admits the next. The last one holds no part of a pair.
	for _, resource := range []v1.ResourceName{"rdma/hca", gpu, ascendNPU, "dummy.com/npu"} {
		pod := askingFor("trainer", resource, 1)
		must(t, k.admit(pod))
		k.startMain(pod)
		k.pods.remove(pod)
	}

	gpus.Break("")
	npus.change("8x910b3", "health", "3", "0", "0", "tell", "3", "0x80E01801", "3", "0")
	nics.change("pairs", "cable", "0000:15:00.0", "on")
	fpgas.change("pac", "return", "0")
	amd.change("mi300x-switches", "install-driver")
	must(t, os.WriteFile(key, nil, 0o600))
	expect(healthy{gpu: "8 of 8", amdGPU: "8 of 8", ascendNPU: "8 of 8", "rdma/hca": "8 of 8", pairOf: "8 of 8",
		"fpga.intel.com/function": "3 of 3", "example.com/key": "1 of 1"})
}
