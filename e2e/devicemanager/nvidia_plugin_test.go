// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"tessera/e2e/nvidia"
)

// timeSlicing is a configuration of NVIDIA's device plugin that divides each GPU into this many
// replicas.
func timeSlicing(replicas int) string {
	return fmt.Sprintf(`version: v1
sharing:
  timeSlicing:
    resources:
    - name: nvidia.com/gpu
      replicas: %d
`, replicas)
}

// plugin is the binary in the place of NVIDIA's device plugin.
type plugin struct {
	*agent
	arguments []string // the program's name comes first
}

// startPlugin starts the binary with a configuration file of NVIDIA's plugin. The arguments are its
// command line: "nvidia-device-plugin" or "tessera agent nvidia", followed by NVIDIA's flags.
func (k *kubelet) startPlugin(file string, arguments ...string) (*plugin, *nvidia.Driver) {
	k.t.Helper()
	return k.startPluginOn("8xa100", file, arguments...)
}

// startPluginOn does so on a node of demo/hardware.
func (k *kubelet) startPluginOn(hardware, file string, arguments ...string) (*plugin, *nvidia.Driver) {
	k.t.Helper()
	p := &plugin{k.newAgent(k.t.TempDir()), arguments}
	driver := nvidia.Install(k.t, p.path("node"), hardware)
	driver.ShowDevices()
	must(k.t, os.Symlink(".", p.path("node/driver-root"))) // as the DaemonSet mounts it
	p.publish(file)
	p.start()
	return p, driver
}

// publish replaces the configuration file atomically.
func (p *plugin) publish(file string) {
	p.t.Helper()
	must(p.t, os.WriteFile(p.path("next.yaml"), []byte(file), 0o600))
	must(p.t, os.Rename(p.path("next.yaml"), p.path("nvidia.yaml")))
}

func (p *plugin) start() {
	p.t.Helper()
	p.startAs(func(command *exec.Cmd) {
		command.Args = p.arguments
		command.Env = append(os.Environ(),
			"CONFIG_FILE="+p.path("nvidia.yaml"),
			"KUBELET_SOCKET="+pluginDirectory()+"/kubelet.sock",
			"TESSERA_ROOT_PREFIX="+p.path("node"),
			"TESSERA_STATE_DIR="+p.path("state"),
			"TESSERA_CONTROL_SOCKET="+p.path("agent.sock"),
			"TESSERA_HTTP_ADDRESS=off",
			"TESSERA_HEALTH_RECOVERY=1s",
			"TESSERA_HEALTH_CHECK_INTERVAL=200ms",
			"TESSERA_LEDGER_INTERVAL=1s")
	})
}

// sharesOf returns the ids of this many shares of each GPU, sorted as texts.
func sharesOf(driver *nvidia.Driver, replicas int) []string {
	var ids []string
	for _, uuid := range driver.UUIDs() {
		for n := range replicas {
			ids = append(ids, fmt.Sprintf("%s::%d", uuid, n))
		}
	}
	slices.Sort(ids)
	return ids
}

// allocatableGPUs returns the ids that kubelet can allocate now, sorted as texts.
func (k *kubelet) allocatableGPUs() []string {
	ids := keys(k.manager.GetAllocatableDevices()[gpu])
	slices.Sort(ids)
	return ids
}

// expectGPUPods starts pods of this many shares one after the other and checks the GPUs of each.
func (k *kubelet) expectGPUPods(driver *nvidia.Driver, count int64, want ...[]int) {
	k.t.Helper()
	for n, indices := range want {
		_, gets := k.startGPUPod(fmt.Sprintf("pod-%d-of-%d", n, count), count)
		equal(k.t, fmt.Sprintf("what pod %d gets", n), gets, visibleGPUs(driver.Pick(indices...)...))
	}
}

func TestTenSharesOfEachGPUAreSpreadAndNameTheirGPUOnce(t *testing.T) {
	k := startKubelet(t)
	_, driver := k.startPlugin(timeSlicing(10), "nvidia-device-plugin")
	k.waitForResource(gpu, "80 of 80")
	equal(t, "allocatable shares", k.allocatableGPUs(), sharesOf(driver, 10))

	// The GPUs follow in the order of their NUMA nodes 1, 3, 5 and 7, and of their UUIDs within a
	// node.
	k.expectGPUPods(driver, 1, []int{3}, []int{2}, []int{0}, []int{1}, []int{6}, []int{7}, []int{4}, []int{5})
	k.expectGPUPods(driver, 3, []int{2, 3})
	_, rest := k.startGPUPod("rest", 69)
	equal(t, "what a pod with the rest gets", rest, visibleGPUs(driver.UUIDs()...))
	equal(t, "refusal of one more", fmt.Sprint(k.admit(askingFor("one-more", gpu, 1))), noneLeft)
}

func TestPackedSharesWithDeviceSpecsBringTheNodesOfTheirGPUsOnce(t *testing.T) {
	k := startKubelet(t)
	_, driver := k.startPlugin(timeSlicing(10), "tessera", "agent", "nvidia", "--pass-device-specs",
		"--shared-devices-allocation-policy=packed")
	k.waitForResource(gpu, "80 of 80")

	_, gets := k.startGPUPod("fifteen", 15)

	// GPUs 2 and 3 are near NUMA node 1, the first.
	want := visibleGPUs(driver.Pick(2, 3)...)
	want.Devices = nodesOfGPUs(2, 3)
	equal(t, "what a pod gets", gets, want)
}

func TestMixedMIGOfTheFileIsAResourceForEachProfileBesideWholeGPUs(t *testing.T) {
	k := startKubelet(t)
	_, driver := k.startPluginOn("8xh100-mig", "version: v1\nflags:\n  migStrategy: mixed\n", "nvidia-device-plugin",
		"--pass-device-specs")
	const small, medium, large = "nvidia.com/mig-1g.10gb", "nvidia.com/mig-2g.20gb", "nvidia.com/mig-3g.40gb"
	want := map[v1.ResourceName]int64{gpu: 6, small: 9, medium: 1, large: 1}
	for name, count := range want {
		k.waitForResource(name, fmt.Sprintf("%d of %d", count, count))
	}
	capacity, _, _ := k.manager.GetCapacity()
	found := map[v1.ResourceName]int64{}
	for name, quantity := range capacity {
		found[name] = quantity.Value()
	}
	equal(t, "all resources", found, want)

	// One instance comes from the GPU with the fewest left, and several come from one GPU. Each pod
	// gets the nodes of the GPU and, below nvidia-caps, of its instances.
	instances := driver.MIGs("1g.10gb")
	for _, each := range []struct {
		resource v1.ResourceName
		count    int64
		uuids    []string
		gpu      int
		caps     []int
	}{
		{small, 1, instances[7:8], 7, []int{21, 22}},
		{small, 7, instances[:7], 6, []int{3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
		{medium, 1, driver.MIGs("2g.20gb"), 7, []int{19, 20}},
		{large, 1, driver.MIGs("3g.40gb"), 7, []int{17, 18}},
	} {
		name := fmt.Sprintf("%d-of-%s", each.count, each.resource[len("nvidia.com/"):])
		pod := askingFor(name, each.resource, each.count)
		must(t, k.admit(pod))
		gets := visibleGPUs(each.uuids...)
		gets.Devices = nodesOfGPUs(each.gpu)
		for _, minor := range each.caps {
			path := fmt.Sprint("/dev/nvidia-caps/nvidia-cap", minor)
			gets.Devices = append(gets.Devices, node(path, path, "rw"))
		}
		equal(t, "what "+name+" gets", k.startMain(pod), gets)
	}
	refusal := k.admit(askingFor("one-more", medium, 1))
	equal(t, "refusal of one more", fmt.Sprint(refusal), strings.ReplaceAll(noneLeft, gpu, medium))
	_, whole := k.startGPUPod("whole", 6)
	rest := visibleGPUs(driver.UUIDs(6, 7)...)
	rest.Devices = nodesOfGPUs(0, 1, 2, 3, 4, 5)
	equal(t, "all whole GPUs", whole, rest)
}

func TestASharedGPUOfThePluginStaysSickWhenItIsRestarted(t *testing.T) {
	k := startKubelet(t)
	p, driver := k.startPlugin(timeSlicing(10), "nvidia-device-plugin")
	k.waitForResource(gpu, "80 of 80")
	p.waitToSay("events of GPUs are watched gpus=8")
	driver.Break(fellOffTheBus)
	k.waitForResource(gpu, "70 of 80")

	equal(t, "exit status", p.stop(), 0)
	k.waitForResource(gpu, "0 of 80")
	driver.Break("")
	p.start()
	k.waitForResource(gpu, "70 of 80")
	p.waitForGoodChecks()
	k.waitForResource(gpu, "70 of 80")
	_, gets := k.startGPUPod("all-that-work", 70)
	equal(t, "what a pod with all that work gets", gets, visibleGPUs(driver.UUIDs(3)...))

	k.reset(p.agent, driver, 3, "")
	k.waitForResource(gpu, "80 of 80")
}

// othersThan returns the UUIDs of all GPUs but one, sorted as texts.
func othersThan(driver *nvidia.Driver, id string) []string {
	uuids := slices.DeleteFunc(driver.UUIDs(), func(uuid string) bool { return uuid == id })
	slices.Sort(uuids)
	return uuids
}

func TestAGPUThatAPodHoldsStaysItsAloneWhileTheOthersAreShared(t *testing.T) {
	k := startKubelet(t)
	p, driver := k.startPlugin("version: v1\n", "nvidia-device-plugin", "--shared-devices-allocation-policy=packed")
	k.waitForResource(gpu, "8 of 8")
	pod, before := k.startGPUPod("holder", 1)
	held := k.devicesOf(gpu, pod, "main")[0]
	k.expectHolders(p.agent, map[string][]holder{held: {holderOf(pod, "main")}})

	p.publish(timeSlicing(4))
	k.waitForResource(gpu, "29 of 29")
	p.waitToSay(`devices keep their former shares until no container holds them resource=nvidia.com/gpu devices=1 ` +
		`configured="4 replicas"`)
	want := []string{held}
	for _, uuid := range othersThan(driver, held) {
		for n := range 4 {
			want = append(want, fmt.Sprintf("%s::%d", uuid, n))
		}
	}
	slices.Sort(want)
	equal(t, "allocatable shares", k.allocatableGPUs(), want)
	_, first := k.startGPUPod("sharer-0", 1)
	for n := 1; n < 4; n++ {
		_, next := k.startGPUPod(fmt.Sprintf("sharer-%d", n), 1)
		equal(t, "what a pod gets beside the first", next, first)
	}
	k.expectKeptByAKilledPlugin(p, held, pod)
	_, rest := k.startGPUPod("rest", 24)
	equal(t, "number of GPUs of a pod with the rest", len(strings.Split(rest.Envs[0].Value, ",")), 6)
	equal(t, "refusal of one more", fmt.Sprint(k.admit(askingFor("one-more", gpu, 1))), noneLeft)
	equal(t, "what the holder gets after a restart", k.startMain(pod), before)

	k.pods.remove(pod)
	k.waitForResource(gpu, "32 of 32")
	equal(t, "allocatable shares", k.allocatableGPUs(), sharesOf(driver, 4))
}

// expectKeptByAKilledPlugin kills the agent and starts the next one. That one must serve the same
// ids, and learn of the pod that holds a device.
func (k *kubelet) expectKeptByAKilledPlugin(p *plugin, held string, pod *v1.Pod) {
	k.t.Helper()
	ids := k.allocatableGPUs()
	p.kill()
	k.waitForResource(gpu, fmt.Sprintf("0 of %d", len(ids)))
	p.start()
	k.waitForResource(gpu, fmt.Sprintf("%d of %d", len(ids), len(ids)))
	equal(k.t, "allocatable shares of the next agent", k.allocatableGPUs(), ids)
	eventually(k.t, func() error {
		if holders := p.holders()[held]; !slices.Contains(holders, holderOf(pod, "main")) {
			return fmt.Errorf("%s is held by %v", held, holders)
		}
		return nil
	})
}

func TestAGPUOfWhichAPodHoldsAShareIsNobodyElsesUntilItIsWholeAgain(t *testing.T) {
	k := startKubelet(t)
	p, driver := k.startPlugin(timeSlicing(4), "nvidia-device-plugin")
	k.waitForResource(gpu, "32 of 32")
	pod, before := k.startGPUPod("holder", 1)
	share := k.devicesOf(gpu, pod, "main")[0]
	held, _, _ := strings.Cut(share, "::")
	k.expectHolders(p.agent, map[string][]holder{held: {holderOf(pod, "main")}})

	p.publish("version: v1\n")
	k.waitForResource(gpu, "8 of 8")
	want := append(othersThan(driver, held), share)
	slices.Sort(want)
	equal(t, "allocatable GPUs", k.allocatableGPUs(), want)
	k.expectKeptByAKilledPlugin(p, held, pod)
	others := askingFor("others", gpu, 7)
	must(t, k.admit(others))
	equal(t, "GPUs of another pod", k.devicesOf(gpu, others, "main"), othersThan(driver, held))
	equal(t, "refusal of one more", fmt.Sprint(k.admit(askingFor("one-more", gpu, 1))), noneLeft)
	equal(t, "what the holder gets after a restart", k.startMain(pod), before)

	k.pods.remove(pod)
	all := driver.UUIDs()
	slices.Sort(all)
	eventually(t, func() error {
		if now := k.allocatableGPUs(); !slices.Equal(now, all) {
			return fmt.Errorf("allocatable GPUs are %v", now)
		}
		return nil
	})
}

// Shares have another resource name than whole GPUs. A pod holds GPUs by the former name.
func TestAGPUThatIsHeldUnderItsFormerNameIsNotOfferedUnderAnother(t *testing.T) {
	const shared = "nvidia.com/gpu.shared"
	renamed := strings.Replace(timeSlicing(4), "timeSlicing:", "timeSlicing:\n    renameByDefault: true", 1)
	for how, rename := range map[string]func(p *plugin){
		"while the agent runs": func(p *plugin) { p.publish(renamed) },
		"with a new agent": func(p *plugin) {
			equal(p.t, "exit status", p.stop(), 0)
			p.publish(renamed)
			p.start()
		},
	} {
		t.Run(how, func(t *testing.T) {
			k := startKubelet(t)
			p, driver := k.startPlugin("version: v1\n", "nvidia-device-plugin")
			k.waitForResource(gpu, "8 of 8")
			pod, before := k.startGPUPod("holder", 2)
			p.waitToSay("events of GPUs are watched gpus=8")
			driver.Break(fellOffTheBus)
			k.waitForResource(gpu, "7 of 8")
			driver.Break("")

			rename(p)
			k.waitForResource(gpu, "0 of 8")
			k.waitForResource(shared, "20 of 32") // 2 GPUs are held, and one is unhealthy

			equal(t, "what the pod gets after a restart", k.startMain(pod), before)
			k.pods.remove(pod)
			k.waitForResource(shared, "28 of 32")
			k.reset(p.agent, driver, 3, "")
			k.waitForResource(shared, "32 of 32")
		})
	}
}
