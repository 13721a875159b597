// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"tessera/e2e/nvidia"
)

const (
	pairOf = "example.com/gpu-nic"

	// gpusAndNICs serves GPUs, network cards and their pairs.
	gpusAndNICs = `rootPrefix: DIRECTORY/node
kubelet:
  root: ` + kubeletRoot + `
resources:
  - {name: amd.com/gpu, amd: {}}
  - {name: rdma/hca, rdma: {}}
  - {name: example.com/gpu-nic, pair: {gpu: amd.com/gpu, nic: rdma/hca}}
`
)

// startPairs starts an agent on a node with GPUs and cards behind four switches, or on the same as a
// virtual machine.
func (k *kubelet) startPairs(gpus, cards string) (*agent, *tree) {
	k.t.Helper()
	a := k.newAgent(k.t.TempDir())
	(&tree{k.t, amdVariable, a.path("node")}).change(gpus)
	nics := &tree{k.t, rdmaVariable, a.path("node")}
	nics.change(cards)
	a.configure(gpusAndNICs)
	a.start()
	for _, resource := range []v1.ResourceName{amdGPU, "rdma/hca", pairOf} {
		k.waitForResource(resource, "8 of 8")
	}
	return a, nics
}

// pairsOf returns the render nodes and the verbs nodes that a pod got, in their order.
func (k *kubelet) pairsOf(pod *v1.Pod) (gpus, cards []string) {
	k.t.Helper()
	for _, device := range k.startMain(pod).Devices {
		var number int
		if _, err := fmt.Sscanf(device.PathOnHost, "/dev/dri/renderD%d", &number); err == nil {
			gpus = append(gpus, fmt.Sprint((number-128)/8))
		}
		if _, err := fmt.Sscanf(device.PathOnHost, "/dev/infiniband/uverbs%d", &number); err == nil {
			cards = append(cards, fmt.Sprint(number))
		}
	}
	return gpus, cards
}

// Both simulators number GPUs and cards in the order of the bus.
func TestPodsOfOneToEightGetTheCardsNextToTheirGPUs(t *testing.T) {
	for _, node := range [][2]string{{"mi300x-switches", "pairs"}, {"mi300x-vm", "pairs-vm"}} {
		t.Run(node[0], func(t *testing.T) {
			k := startKubelet(t)
			k.startPairs(node[0], node[1])
			for count := 1; count <= 8; count++ {
				pod := askingFor(fmt.Sprint("pod-", count), pairOf, int64(count))
				must(t, k.admit(pod))
				gpus, cards := k.pairsOf(pod)
				equal(t, "GPUs", len(gpus), count)
				equal(t, "the cards of the GPUs", cards, gpus)
				k.pods.remove(pod)
			}
		})
	}
}

// nvidiaBehindSwitches has a GPU at the address of each of the node mi300x-switches.
func nvidiaBehindSwitches() string {
	var description strings.Builder
	description.WriteString("driver: \"570.172.08\"\ncuda: \"12.8\"\n" +
		"defaults: {model: NVIDIA H100 80GB HBM3, memory: 81559, compute: \"9.0\", class: \"0x030200\"}\ngpus:\n")
	for i, address := range []int{0x13, 0x14, 0x33, 0x34, 0x53, 0x54, 0x73, 0x74} {
		fmt.Fprintf(&description, "- {uuid: GPU-8a1f1d3c-0000-4000-8000-%012d, pci: \"0000:%x:00.0\"}\n", i, address)
	}
	return description.String()
}

// moveToSwitch puts a function of a simulated node behind the switch of two of its cards.
func moveToSwitch(t *testing.T, root, function string, which int) {
	t.Helper()
	devices := filepath.Join(root, "sys/bus/pci/devices")
	card, err := os.Readlink(filepath.Join(devices, fmt.Sprintf("0000:%d5:00.0", 2*which+1)))
	must(t, err)
	place := filepath.Join(filepath.Dir(filepath.Dir(card)), "0000:1f:1f.0", function)
	at := filepath.Join(devices, place)
	must(t, os.MkdirAll(filepath.Dir(at), 0o755))
	must(t, os.Rename(filepath.Join(devices, function), at))
	must(t, os.Symlink(place, filepath.Join(devices, function)))
}

func TestNVIDIAGPUsAndNPUsGoWithTheirCardsToo(t *testing.T) {
	for _, one := range []struct {
		resource, section, gpuNode string
		install                    func(root string)
	}{
		{"nvidia.com/gpu", "nvidia: {}", "/dev/nvidia%d", func(root string) {
			(&tree{t, amdVariable, root}).change("mi300x-switches") // lends the bus
			nvidia.InstallAs(t, root, nvidiaBehindSwitches()).ShowDevices()
		}},
		{"huawei.com/npu", "ascend: {}", "/dev/davinci%d", func(root string) {
			(&tree{t, ascendVariable, root}).change("8x910b3")
			for i, bus := range []int{0xc1, 0xc2, 0x81, 0x82, 0x01, 0x02, 0x41, 0x42} {
				moveToSwitch(t, root, fmt.Sprintf("0000:%02x:00.0", bus), i/2)
			}
		}},
	} {
		t.Run(one.resource, func(t *testing.T) {
			k := startKubelet(t)
			a := k.newAgent(t.TempDir())
			(&tree{t, rdmaVariable, a.path("node")}).change("pairs")
			one.install(a.path("node"))
			a.configure(strings.NewReplacer("amd.com/gpu, amd: {}", one.resource+", "+one.section,
				"gpu: amd.com/gpu", "gpu: "+one.resource).Replace(gpusAndNICs))
			a.start()
			k.waitForResource(pairOf, "8 of 8")

			pod := askingFor("trainer", pairOf, 8)
			must(t, k.admit(pod))

			var gpus, cards []int
			for _, device := range k.startMain(pod).Devices {
				var number int
				if _, err := fmt.Sscanf(device.PathOnHost, one.gpuNode, &number); err == nil {
					gpus = append(gpus, number)
				}
				if _, err := fmt.Sscanf(device.PathOnHost, "/dev/infiniband/uverbs%d", &number); err == nil {
					cards = append(cards, number)
				}
			}
			equal(t, "GPUs", gpus, []int{0, 1, 2, 3, 4, 5, 6, 7})
			equal(t, "the cards of the GPUs", cards, gpus)
		})
	}
}

func TestAPairIsHeldInTheResourcesOfItsParts(t *testing.T) {
	k := startKubelet(t)
	k.startPairs("mi300x-switches", "pairs")

	pod := askingFor("trainer", pairOf, 2)
	must(t, k.admit(pod))
	k.startMain(pod)

	k.waitForResource(amdGPU, "6 of 8")
	k.waitForResource("rdma/hca", "6 of 8")
	k.waitForResource(pairOf, "8 of 8")
}

// Without the card 15, the GPU 13 goes with the card 16. A fresh choice would take the card 15 for it.
func TestAPairThatIsHeldStaysWhenTheStateIsLost(t *testing.T) {
	k := startKubelet(t)
	a := k.newAgent(t.TempDir())
	(&tree{t, amdVariable, a.path("node")}).change("mi300x-switches")
	nics := &tree{t, rdmaVariable, a.path("node")}
	nics.change("pairs", "unplug", "0000:15:00.0")
	a.configure(gpusAndNICs)
	a.start()
	k.waitForResource(pairOf, "7 of 7")
	pod := askingFor("trainer", pairOf, 7)
	must(t, k.admit(pod))
	held, _ := k.pairsOf(pod)

	a.stop()
	must(t, os.RemoveAll(a.path("state")))
	nics.change("pairs", "return", "0000:15:00.0")
	a.start()

	k.waitForResource(pairOf, "8 of 8")
	k.waitForResource(amdGPU, "1 of 8")
	k.waitForResource("rdma/hca", "1 of 8")
	other := askingFor("other", pairOf, 1)
	must(t, k.admit(other))
	gpus, cards := k.pairsOf(other)
	equal(t, "its GPU is free", slices.Contains(held, gpus[0]), false)
	equal(t, "its card, which is numbered anew", cards, []string{"8"})
}

func TestACardWithoutALinkCostsItsOwnPair(t *testing.T) {
	k := startKubelet(t)
	_, nics := k.startPairs("mi300x-switches", "pairs")

	nics.change("pairs", "cable", "0000:15:00.0", "off")
	k.waitForResource("rdma/hca", "7 of 8")
	k.waitForResource(pairOf, "7 of 8")
	k.waitForResource(amdGPU, "8 of 8")

	nics.change("pairs", "cable", "0000:15:00.0", "on")
	k.waitForResource(pairOf, "8 of 8")
}

func TestAPodThatAsksForBothByThemselvesGetsNeighbours(t *testing.T) {
	k := startKubelet(t)
	k.startPairs("mi300x-switches", "pairs")

	for i := range 8 {
		both := map[v1.ResourceName]int64{amdGPU: 1, "rdma/hca": 1}
		pod := podWith(fmt.Sprint("pod-", i), containerAsking("main", both))
		must(t, k.admit(pod))
		gpus, cards := k.pairsOf(pod)
		equal(t, "the switch of the card", switchOf(cards[0]), switchOf(gpus[0]))
	}
}

// switchOf returns the switch of a GPU or card by its number.
func switchOf(number string) int {
	var n int
	fmt.Sscan(number, &n)
	return n / 2
}
