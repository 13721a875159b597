// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/container"
)

const (
	ascendNPU = "huawei.com/Ascend910B3"

	forgotten = time.Minute // the agent undoes what kubelet has forgotten for so long

	ascendVariable = "TESSERA_E2E_ASCEND" // ascend_tree, which writes the files of a node

	// vnpus serves vNPUs that the agent makes.
	vnpus = `rootPrefix: DIRECTORY/node
kubelet:
  root: ` + kubeletRoot + `
resources:
  - name: huawei.com/half
    strategies: [cdi-cri]
    cdi: {kind: tessera.dev/ascend-vnpu, dir: /cdi}
    ascend: {template: vir04}
`

	// ascendNPUs serves all Ascend NPUs of a node by their models.
	ascendNPUs = `rootPrefix: DIRECTORY/node
kubelet:
  root: ` + kubeletRoot + `
resources:
  - name: "huawei.com/{profile}"
    ascend: {}
`
)

// startAscend starts an agent on a simulated node, such as "8x910b3".
func (k *kubelet) startAscend(hardware string) *tree {
	k.t.Helper()
	return k.startAscendBy(ascendNPUs, hardware)
}

// startAscendBy does so with a configuration and changes of the node.
func (k *kubelet) startAscendBy(configuration string, hardware ...string) *tree {
	k.t.Helper()
	return k.startOn(ascendVariable, configuration, hardware...)
}

// nodesOfAscend returns the device nodes of a grant: each chip's, and the common ones once.
func nodesOfAscend(chips ...int) []container.DeviceInfo {
	nodes := []container.DeviceInfo{}
	for i, chip := range chips {
		path := fmt.Sprint("/dev/davinci", chip)
		nodes = append(nodes, node(path, path, "rw"))
		if i > 0 {
			continue
		}
		for _, path := range []string{"/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc"} {
			nodes = append(nodes, node(path, path, "rw"))
		}
	}
	return nodes
}

func TestEightAscend910B3AreGivenWithTheirNodesAndFourComeFromOneNetwork(t *testing.T) {
	k := startKubelet(t)
	k.startAscend("8x910b3")
	k.waitForResource(ascendNPU, "8 of 8")

	pod := askingFor("four", ascendNPU, 4)
	must(t, k.admit(pod))

	equal(t, "device nodes", k.startMain(pod).Devices, nodesOfAscend(0, 1, 2, 3))
}

func TestBothDiesOfAnAscend910CAreGivenTogether(t *testing.T) {
	k := startKubelet(t)
	k.startAscend("16x910c")
	k.waitForResource("huawei.com/Ascend910C", "16 of 16")

	pod := askingFor("two", "huawei.com/Ascend910C", 2)
	must(t, k.admit(pod))

	options := k.startMain(pod)
	equal(t, "device nodes", options.Devices, nodesOfAscend(0, 1))
	equal(t, "the driver's files", nonEmpty(options), true)
}

func TestASickAscendIsOutUntilItsFaultClears(t *testing.T) {
	k := startKubelet(t)
	node := k.startAscend("8x910b3")
	k.waitForResource(ascendNPU, "8 of 8")

	node.change("8x910b3", "health", "3", "3", "0x80E01801", "tell", "3", "0x80E01801", "3", "1")
	k.waitForResource(ascendNPU, "7 of 8")

	node.change("8x910b3", "health", "3", "0", "0", "tell", "3", "0x80E01801", "3", "0")
	k.waitForResource(ascendNPU, "8 of 8")
}

// vnpus returns the numbers of the node's vNPUs.
func (n *tree) vnpus() []string {
	n.t.Helper()
	files, err := filepath.Glob(n.directory + "/fake-dcmi.vnpus/*")
	must(n.t, err)
	numbers := []string{}
	for _, file := range files {
		numbers = append(numbers, filepath.Base(file))
	}
	return numbers
}

func TestAVNPUIsMadeAtTheStartAndStaysUntilItsPodHasEnded(t *testing.T) {
	k := startKubelet(t)
	node := k.startAscendBy(vnpus, "310p-duo")
	k.waitForResource("huawei.com/half", "4 of 4")
	idle, ended := askingFor("idle", "huawei.com/half", 1), askingFor("ended", "huawei.com/half", 1)
	must(t, k.admit(idle))
	must(t, k.admit(ended))
	equal(t, "vNPUs before the start", node.vnpus(), []string{})

	given := k.startMain(idle)
	kept := node.vnpus()
	equal(t, "vNPUs of one pod", len(kept), 1)
	equal(t, "names of CDI devices", len(given.CDIDevices), 1)
	document, err := os.ReadFile(filepath.Join(node.directory, "cdi",
		"tessera-grant-"+strings.SplitN(given.CDIDevices[0].Name, "=", 2)[1]+".json"))
	must(t, err)
	if !strings.Contains(string(document), "/dev/vdavinci"+kept[0]) {
		t.Errorf("the CDI document lacks vNPU %s: %s", kept[0], document)
	}
	k.startMain(ended)
	equal(t, "vNPUs of two pods", len(node.vnpus()), 2)

	// kubelet drops a pod that has ended when it admits the next.
	k.pods.remove(ended)
	must(t, k.admit(askingFor("next", "huawei.com/half", 1)))
	eventuallyIn(t, forgotten+patient, func() error {
		if now := node.vnpus(); !slices.Equal(now, kept) {
			return fmt.Errorf("the vNPUs are %v, not %v", now, kept)
		}
		return nil
	})
	equal(t, "what the idle pod gets again", k.startMain(idle), given)
}

func TestAVNPUThatAnotherProgramDestroyedIsNotOpenedAgain(t *testing.T) {
	k := startKubelet(t)
	node := k.startAscendBy(vnpus, "310p-duo")
	k.waitForResource("huawei.com/half", "4 of 4")
	pod := askingFor("pod", "huawei.com/half", 1)
	must(t, k.admit(pod))
	k.startMain(pod)
	number := node.vnpus()[0]

	node.change("310p-duo", "destroy-vnpu", number)
	k.waitForResource("huawei.com/half", "3 of 4")
	node.change("310p-duo", "make-vnpu", "0", number, "vir04")

	_, err := k.startContainer(pod, pod.Spec.Containers[0])
	if err == nil || !strings.Contains(err.Error(), "delete the pod") {
		t.Errorf("the container starts again: %v", err)
	}
}

func TestAscendDockerRuntimeIsToldTheChipsByItsVariables(t *testing.T) {
	inRuntime := strings.ReplaceAll(ascendNPUs, "ascend: {}", "ascend: {mode: runtime}")
	for _, one := range []struct {
		configuration, resource, counts, visible string
		hardware                                 []string
		more                                     []container.EnvVar
	}{
		{inRuntime, ascendNPU, "8 of 8", "0,1", []string{"8x910b3"}, nil},
		{strings.ReplaceAll(inRuntime, "mode:", "static: true, mode:"), ascendNPU + "-vir05_1c_16g", "2 of 2", "100,101",
			[]string{"8x910b3", "make-vnpu", "0", "100", "vir05_1c_16g", "make-vnpu", "0", "101", "vir05_1c_16g"},
			[]container.EnvVar{{Name: "ASCEND_RUNTIME_OPTIONS", Value: "VIRTUAL"}}},
	} {
		t.Run(one.resource, func(t *testing.T) {
			k := startKubelet(t)
			k.startAscendBy(one.configuration, one.hardware...)
			k.waitForResource(v1.ResourceName(one.resource), one.counts)
			pod := askingFor("two", v1.ResourceName(one.resource), 2)
			must(t, k.admit(pod))

			given := k.startMain(pod)
			slices.SortFunc(given.Envs, func(a, b container.EnvVar) int { return strings.Compare(a.Name, b.Name) })

			want := append(one.more, container.EnvVar{Name: "ASCEND_VISIBLE_DEVICES", Value: one.visible})
			equal(t, "what the container gets", given, &devicemanager.DeviceRunContainerOptions{Envs: want})
		})
	}
}

func nonEmpty(options *devicemanager.DeviceRunContainerOptions) bool { return len(options.Mounts) > 0 }
