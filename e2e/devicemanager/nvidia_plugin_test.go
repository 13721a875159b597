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

// timeSlicing is a configuration file of NVIDIA's device plugin that shares each GPU among so many.
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
	arguments []string // with the program's name
}

// startPlugin starts the binary by a file of NVIDIA's, as it is called: "nvidia-device-plugin", or
// "tessera agent nvidia", with flags of NVIDIA's behind it.
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

// publish replaces the file at once.
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

// sharesOf are the ids of so many shares of each GPU, sorted as texts.
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

// allocatableGPUs are the ids that kubelet could give now, sorted as texts.
func (k *kubelet) allocatableGPUs() []string {
	ids := keys(k.manager.GetAllocatableDevices()[gpu])
	slices.Sort(ids)
	return ids
}

// expectGPUPods starts pods of so many shares one after the other and checks the GPUs that each gets.
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

	// By their NUMA nodes 1, 3, 5 and 7, and where nothing tells them apart by their UUIDs.
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

	// NUMA node 1 is the first.
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

	// One comes from the GPU with the fewest left, several from one GPU; each with the nodes of the
	// GPU and, below nvidia-caps, of the instances.
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

// From no sharing to four shares of each GPU: ids would change under pods, so the pods come first.
func TestSharesComeOnceNoPodHoldsAGPUWhichKeepsWhatItHas(t *testing.T) {
	k := startKubelet(t)
	p, driver := k.startPlugin("version: v1\n", "nvidia-device-plugin")
	k.waitForResource(gpu, "8 of 8")
	pod, before := k.startGPUPod("holder", 2)
	equal(t, "what the pod gets", before, visibleGPUs(driver.Pick(0, 1)...))

	p.publish(timeSlicing(4))
	p.waitToSay("the former policy stays until nobody holds a device resource=nvidia.com/gpu serving=whole " +
		"configured=replicas")
	other, more := k.startGPUPod("other", 1)
	equal(t, "what another pod gets meanwhile", more, visibleGPUs(driver.UUID(2)))
	equal(t, "what the first gets after a restart", k.startMain(pod), before)
	k.waitForResource(gpu, "8 of 8")

	k.expectHolders(p.agent, map[string][]holder{
		driver.UUID(0): {holderOf(pod, "main")},
		driver.UUID(1): {holderOf(pod, "main")},
		driver.UUID(2): {holderOf(other, "main")},
	})
	k.pods.remove(pod)
	k.pods.remove(other)
	k.waitForResource(gpu, "32 of 32")
	equal(t, "allocatable shares", k.allocatableGPUs(), sharesOf(driver, 4))
	equal(t, "registrations", p.metrics(`tessera_registrations_total{resource="nvidia.com/gpu"`),
		[]string{`tessera_registrations_total{resource="nvidia.com/gpu",code="ok"} 1`})
}

// The shares of a GPU have another name than whole GPUs had; a pod got one by the former.
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
			driver.Break(fellOffTheBus)
			k.waitForResource(gpu, "7 of 8")
			driver.Break("")

			rename(p)
			k.waitForResource(gpu, "0 of 8")
			k.waitForResource(shared, "20 of 32") // 2 GPUs are held, and one is sick

			equal(t, "what the pod gets after a restart", k.startMain(pod), before)
			k.pods.remove(pod)
			k.waitForResource(shared, "28 of 32")
			k.reset(p.agent, driver, 3, "")
			k.waitForResource(shared, "32 of 32")
		})
	}
}
