// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"tessera/e2e/nvidia"
)

const (
	npuNodes    = "/var/lib/e2e-npu-nodes"
	npuMounts   = "/var/lib/e2e-npu-mounts"
	cdiDocument = "/var/run/cdi/tessera-dummy.com_npu.json"
)

// installCdiAgent serves two NPUs by CDI alone, each with a device node and a mount.
func (c *cluster) installCdiAgent(t *testing.T) map[string]number {
	t.Helper()
	nodes := makeNodes(t, npuNodes, "0", "1")
	t.Cleanup(func() { must(t, os.RemoveAll(filepath.Dir(cdiDocument))) })
	t.Cleanup(func() { must(t, os.RemoveAll(npuMounts)) })
	for id := range nodes {
		must(t, os.MkdirAll(filepath.Join(npuMounts, id), 0o755))
		must(t, os.WriteFile(filepath.Join(npuMounts, id, "name"), []byte("this is NPU "+id+"\n"), 0o644))
	}
	c.removeEvents(t)
	c.install(t, telling(t, serving(t, `resources:
  - name: dummy.com/npu
    env: DUMMY_VISIBLE_DEVICES
    strategies: [cdi-cri]
    cdi:
      kind: dummy.com/npu
    dummy:
      count: 2
      nodes: [{hostPath: "`+npuNodes+`/{id}", containerPath: "/dev/npu{id}"}]
      mounts: [{hostPath: "`+npuMounts+`/{id}", containerPath: "/npu/{id}"}]
`, filepath.Dir(cdiDocument))),
		append(c.rights(t, "nvidia"), c.readManifests(t, "examples/daemonset.yaml")...)...)
	c.waitForDevices(t, "2 of 2")
	return nodes
}

const showGrant = `env | grep DUMMY | sort; cat /npu/*/name; ls /dev | grep npu; `

func TestACDIDocumentBringsVariableMountAndNode(t *testing.T) {
	c := theCluster(t)
	nodes := c.installCdiAgent(t)
	script := showGrant + tryToOpen("a", nodes["0"]) + tryToOpen("b", nodes["1"])

	c.create(t, podOf("one", 1, script))
	c.waitForPhase(t, "one", v1.PodSucceeded)
	c.create(t, podOf("both", 2, script))
	c.waitForPhase(t, "both", v1.PodSucceeded)

	equal(t, "what the pod with one says", c.output(t, "one"),
		"DUMMY_VISIBLE_DEVICES_0=0\nthis is NPU 0\nnpu0\na opens\nb does not open\n")
	equal(t, "what the pod with both says", c.output(t, "both"),
		"DUMMY_VISIBLE_DEVICES_0=0\nDUMMY_VISIBLE_DEVICES_1=1\nthis is NPU 0\nthis is NPU 1\n"+
			"npu0\nnpu1\na opens\nb opens\n")
}

// waitForFailure waits for kubelet's event that a container of the pod failed to start, and returns
// its message.
func (c *cluster) waitForFailure(t *testing.T, name string) string {
	t.Helper()
	var said string
	eventually(t, func(ctx context.Context) error {
		list, err := c.client.CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{
			FieldSelector: "reason=Failed,involvedObject.name=" + name})
		if err != nil {
			return err
		}
		if len(list.Items) == 0 {
			return fmt.Errorf("nothing is said to have failed about pod %s", name)
		}
		said = list.Items[0].Message
		return nil
	})
	return said
}

// waitForDocument waits until the file on disk equals the document.
func waitForDocument(t *testing.T, document []byte) {
	t.Helper()
	eventually(t, func(context.Context) error {
		now, err := os.ReadFile(cdiDocument)
		if err == nil && !bytes.Equal(now, document) {
			err = fmt.Errorf("the document is %q", now)
		}
		return err
	})
}

// expectNoStartUntilPutBack checks that a pod cannot start while another file is in the document's
// place. The agent must leave that file alone, and restore the document once the test has removed
// it. Then the pod must start with its whole grant.
func (c *cluster) expectNoStartUntilPutBack(t *testing.T, pod string, document []byte) {
	t.Helper()
	c.create(t, podOf(pod, 1, showGrant))

	equal(t, "what failed", c.waitForFailure(t, pod), "Error: failed to create containerd container: "+
		"CDI device injection failed: unresolvable CDI devices dummy.com/npu=0")
	equal(t, "the pod's phase", c.pod(t, pod).Status.Phase, v1.PodPending)

	must(t, os.Remove(cdiDocument))
	waitForDocument(t, document)
	c.waitForPhase(t, pod, v1.PodSucceeded)
	equal(t, "what the pod says", c.output(t, pod), "DUMMY_VISIBLE_DEVICES_0=0\nthis is NPU 0\nnpu0\n")
}

// readDocument reads the agent's CDI document.
func readDocument(t *testing.T) []byte {
	t.Helper()
	document, err := os.ReadFile(cdiDocument)
	must(t, err)
	return document
}

func TestNoContainerStartsWhileItsCDIDocumentIsGone(t *testing.T) {
	c := theCluster(t)
	c.installCdiAgent(t)
	document := readDocument(t)

	// The agent restores a removed document, so the test retries until its own Mkdir comes first.
	eventually(t, func(context.Context) error {
		if err := os.Remove(cdiDocument); err != nil {
			return err
		}
		return os.Mkdir(cdiDocument, 0o700)
	})

	c.expectNoStartUntilPutBack(t, "without-document", document)
}

func TestNoContainerStartsWhileItsCDIDocumentIsBroken(t *testing.T) {
	c := theCluster(t)
	c.installCdiAgent(t)
	document := readDocument(t)

	must(t, os.WriteFile(filepath.Join(filepath.Dir(cdiDocument), "broken"), []byte("{"), 0o644))
	must(t, os.Symlink("broken", cdiDocument+".new"))
	must(t, os.Rename(cdiDocument+".new", cdiDocument))

	c.expectNoStartUntilPutBack(t, "broken-document", document)
}

func TestACDIDocumentThatIsRemovedOrBrokenIsPutBackByTheAgent(t *testing.T) {
	c := theCluster(t)
	c.installCdiAgent(t)
	document := readDocument(t)

	must(t, os.Remove(cdiDocument))
	waitForDocument(t, document)
	must(t, os.WriteFile(cdiDocument, []byte("{"), 0o644))
	waitForDocument(t, document)
	c.expectEvents(t, &v1.Pod{}, told{"Node " + nodeName, "Warning", "CdiDocumentChanged",
		"CDI document " + cdiDocument + " was removed by another program; the agent restores it. " +
			"Find that program"})

	c.create(t, podOf("after-all", 1, showGrant))
	c.waitForPhase(t, "after-all", v1.PodSucceeded)
	equal(t, "what the pod says", c.output(t, "after-all"),
		"DUMMY_VISIBLE_DEVICES_0=0\nthis is NPU 0\nnpu0\n")
}

func TestNoContainerStartsWhileSomebodyElsesCDIDocumentNamesItsDevice(t *testing.T) {
	c := theCluster(t)
	c.installCdiAgent(t)
	foreign := filepath.Join(filepath.Dir(cdiDocument), "foreign.yaml") // JSON is valid YAML

	must(t, os.WriteFile(foreign, readDocument(t), 0o644))
	c.expectEvents(t, &v1.Pod{}, told{"Node " + nodeName, "Warning", "CdiConflict",
		"two CDI documents name one device, and no runtime injects it: " + cdiDocument + " and " + foreign +
			" both name dummy.com/npu=0 [cdi-conflict]: remove one of the two documents: as long as both name the device, no runtime injects it"})
	c.create(t, podOf("torn", 1, showGrant))
	equal(t, "what failed", c.waitForFailure(t, "torn"), "Error: failed to create containerd container: "+
		"CDI device injection failed: unresolvable CDI devices dummy.com/npu=0")

	must(t, os.Remove(foreign))
	c.waitForPhase(t, "torn", v1.PodSucceeded)
	equal(t, "what the pod says", c.output(t, "torn"), "DUMMY_VISIBLE_DEVICES_0=0\nthis is NPU 0\nnpu0\n")
}

const (
	gpuDocument = "/var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json"
	cudaLibrary = nvidiaRoot + "/usr/lib64/libcuda.so.570.172.08"
	cudaLink    = nvidiaRoot + "/usr/lib64/libcuda.so.1" // the name that programs load
)

// byCdi makes a resource use CDI, whatever the runtime supports.
const byCdi = "    strategies: [cdi-cri]\n    cdi: {kind: k8s.device-plugin.nvidia.com/gpu}\n"

// installGPUs serves two GPUs without NVIDIA's hooks. `more` are further lines of the resource:
// strategies, policy.
func (c *cluster) installGPUs(t *testing.T, more string) map[string]number {
	t.Helper()
	return c.installGPUsWith(t, more, "")
}

// installGPUsWith also adds ofGPUs to the resource's nvidia section, and mounts further directories
// of the host into the agent.
func (c *cluster) installGPUsWith(t *testing.T, more, ofGPUs string, directories ...string) map[string]number {
	t.Helper()
	nvidia.InstallAs(t, nvidiaRoot, twoGPUs)
	installCuda(t)
	nodes := makeNodes(t, nvidiaRoot+"/dev", "nvidia0", "nvidia1", "nvidiactl", "moved")
	t.Cleanup(func() { must(t, os.RemoveAll(filepath.Dir(gpuDocument))) })
	c.install(t, telling(t, serving(t, `resources:
  - name: nvidia.com/gpu
`+more+`    nvidia: {`+ofGPUs+`driverRoot: `+nvidiaRoot+`, devRoot: `+nvidiaRoot+`, cdiLeaveOut: [hooks]}
`, append(directories, nvidiaRoot, filepath.Dir(gpuDocument))...)),
		append(c.rights(t, "nvidia"), c.readManifests(t, "examples/daemonset.yaml")...)...)
	return nodes
}

// installCuda puts a stand-in for libcuda.so.1 into the driver's library directory.
func installCuda(t *testing.T) {
	t.Helper()
	must(t, os.WriteFile(cudaLibrary, []byte("this is the driver\n"), 0o755))
	must(t, os.Symlink(filepath.Base(cudaLibrary), cudaLink))
	t.Cleanup(func() {
		libraries, err := filepath.Glob(cudaLink[:len(cudaLink)-1] + "*")
		must(t, err)
		for _, library := range libraries {
			must(t, os.Remove(library))
		}
	})
}

// showGPUs prints the container's variables, driver library, device nodes, and which of the nodes
// it may open. It writes all at once, so that the test reads a complete log.
func showGPUs(nodes map[string]number) string {
	return `{ env | grep NVIDIA | sort; cat /usr/lib64/libcuda.so.1; ls /dev | grep nvidia; ` +
		tryToOpen("nvidia0", nodes["nvidia0"]) + tryToOpen("nvidia1", nodes["nvidia1"]) +
		`} >/tmp/said 2>&1; cat /tmp/said; `
}

const cdiVariables = "NVIDIA_CTK_LIBCUDA_DIR=/usr/lib64\nNVIDIA_VISIBLE_DEVICES=void\n"

// withGPU returns the output of showGPUs in a container that has only this one of the two GPUs.
func withGPU(index int) string {
	lines := cdiVariables + "this is the driver\n" + fmt.Sprintf("nvidia%d\nnvidiactl\n", index)
	for each := range 2 {
		if each == index {
			lines += fmt.Sprintf("nvidia%d opens\n", each)
		} else {
			lines += fmt.Sprintf("nvidia%d does not open\n", each)
		}
	}
	return lines
}

func TestACDIDocumentBringsAGPUAndTheDriverAndNothingOfAnotherGPU(t *testing.T) {
	c := theCluster(t)
	nodes := c.installGPUs(t, byCdi)
	c.waitForResource(t, gpu, "2 of 2")

	var said []string
	for _, name := range []string{"first", "second"} {
		c.create(t, withGPUs(name, 1, showGPUs(nodes)+stay))
		c.waitForPhase(t, name, v1.PodRunning)
		said = append(said, c.output(t, name))
	}

	slices.Sort(said)
	equal(t, "what the pods say", said, []string{withGPU(0), withGPU(1)})
}

func TestReplicasOfAGPUAreThatGPUByItsCDIName(t *testing.T) {
	c := theCluster(t)
	nodes := c.installGPUs(t, byCdi+"    policy: replicas\n    replicas: 2\n")
	c.waitForResource(t, gpu, "4 of 4")

	said := map[string]int{}
	for i := range 4 {
		name := fmt.Sprintf("share%d", i)
		c.create(t, withGPUs(name, 1, showGPUs(nodes)+stay))
		c.waitForPhase(t, name, v1.PodRunning)
		said[c.output(t, name)]++
	}

	equal(t, "how many pods say what", said, map[string]int{withGPU(0): 2, withGPU(1): 2})
}

// oneGPUInTwo describes a GPU with two equal MIG instances, and one whole GPU.
const (
	mig         = v1.ResourceName("nvidia.com/mig-1g.10gb")
	oneGPUInTwo = `driver: "570.172.08"
defaults: {model: NVIDIA H100 80GB HBM3, memory: 81559, compute: "9.0"}
gpus:
- uuid: GPU-7e9e1243-5c36-41b9-a0e5-ab10dc41dba1
  pci: "0000:31:00.0"
  mig:
  - {profile: 1g.10gb, gi: 7, memory: 9984, uuid: MIG-120ebd35-e88f-40e0-a2c0-8fe5f045d112}
  - {profile: 1g.10gb, gi: 8, memory: 9984, uuid: MIG-649e1397-2e7b-48dc-af3e-b7f5c80bb219}
- {uuid: GPU-09ae689a-d28e-4f35-a48b-fe1116433805, pci: "0000:32:00.0"}
profiles:
- {profile: 0, id: 19, slices: 1, instances: 7, memory: 9984, multiprocessors: 16, copy: 1, decoders: 1, jpeg: 1, ofa: 0}
`
)

// installMIGByCdi serves the two MIG instances by CDI alone. The kernel's list of MIG device nodes
// lies below the agent's rootPrefix, because no process can write to /proc. Therefore the driver's
// root and the CDI directory must be reachable below rootPrefix as well.
func (c *cluster) installMIGByCdi(t *testing.T) map[string]number {
	t.Helper()
	nvidia.InstallAs(t, nvidiaRoot, oneGPUInTwo)
	t.Cleanup(func() { must(t, os.RemoveAll(nvidiaRoot)) })
	minors := nvidiaRoot + "/proc/driver/nvidia-caps/mig-minors"
	for _, directory := range []string{filepath.Dir(minors), nvidiaRoot + "/var/lib", nvidiaRoot + "/dev"} {
		must(t, os.MkdirAll(directory, 0o755))
	}
	must(t, os.WriteFile(cudaLibrary, []byte("this is the driver\n"), 0o755))
	must(t, os.Symlink(filepath.Base(cudaLibrary), cudaLink))
	must(t, os.WriteFile(minors, []byte("config 1\nmonitor 2\ngpu0/gi7/access 3\ngpu0/gi7/ci0/access 4\n"+
		"gpu0/gi8/access 5\ngpu0/gi8/ci0/access 6\n"), 0o644))
	must(t, os.Symlink("../..", nvidiaRoot+nvidiaRoot))
	for _, name := range []string{"nvidia0", "nvidia1", "nvidiactl"} {
		must(t, unix.Mknod(nvidiaRoot+"/dev/"+name, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	}
	nodes := makeNodes(t, nvidiaRoot+"/dev/nvidia-caps", "nvidia-cap3", "nvidia-cap4", "nvidia-cap5", "nvidia-cap6")
	must(t, os.MkdirAll(filepath.Dir(gpuDocument), 0o755))
	t.Cleanup(func() { must(t, os.RemoveAll(filepath.Dir(gpuDocument))) })
	must(t, bind(filepath.Dir(gpuDocument), nvidiaRoot+"/cdi"))
	t.Cleanup(func() { must(t, unix.Unmount(nvidiaRoot+"/cdi", unix.MNT_DETACH)) })
	c.installAgent(t, serving(t, `rootPrefix: `+nvidiaRoot+`
resources:
  - name: "nvidia.com/mig-{profile}"
    strategies: [cdi-cri]
    cdi: {kind: k8s.device-plugin.nvidia.com/gpu, dir: /cdi}
    nvidia: {mig: "*", driverRoot: `+nvidiaRoot+`, devRoot: `+nvidiaRoot+`, cdiLeaveOut: [hooks]}
`, nvidiaRoot))
	return nodes
}

func TestACDIDocumentBringsAMIGInstanceAndNothingOfAnother(t *testing.T) {
	c := theCluster(t)
	nodes := c.installMIGByCdi(t)
	c.waitForResource(t, mig, "2 of 2")
	script := `{ env | grep NVIDIA | sort; cat /usr/lib64/libcuda.so.1; ls /dev | grep nvidia; ls /dev/nvidia-caps; `
	for _, name := range []string{"nvidia-cap3", "nvidia-cap4", "nvidia-cap5", "nvidia-cap6"} {
		script += tryToOpen(name, nodes[name])
	}

	var said []string
	for _, name := range []string{"first", "second"} {
		pod := podOf(name, 0, script+"} >/tmp/said 2>&1; cat /tmp/said; "+stay)
		pod.Spec.Containers[0].Resources.Limits[mig] = *resource.NewQuantity(1, resource.DecimalSI)
		c.create(t, pod)
		c.waitForPhase(t, name, v1.PodRunning)
		said = append(said, c.output(t, name))
	}

	slices.Sort(said)
	lines := cdiVariables + "this is the driver\nnvidia-caps\nnvidia0\nnvidiactl\n"
	equal(t, "what the pods say", said, []string{
		lines + "nvidia-cap3\nnvidia-cap4\nnvidia-cap3 opens\nnvidia-cap4 opens\n" +
			"nvidia-cap5 does not open\nnvidia-cap6 does not open\n",
		lines + "nvidia-cap5\nnvidia-cap6\nnvidia-cap3 does not open\nnvidia-cap4 does not open\n" +
			"nvidia-cap5 opens\nnvidia-cap6 opens\n"})
}

func TestAPodThatWantsAllGPUsByItsVariableHasTheOneItWasGranted(t *testing.T) {
	c := theCluster(t)
	// No strategy is configured: the agent takes CDI, because the node's status reports a runtime
	// that reads it.
	nodes := c.installGPUs(t, "")
	c.waitForResource(t, gpu, "2 of 2")
	eventually(t, func(context.Context) error {
		_, err := os.Stat(gpuDocument)
		return err
	})
	wanting := func(name string, count int64) string {
		pod := withGPUs(name, count, showGPUs(nodes))
		pod.Spec.Containers[0].Env = []v1.EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES", Value: "all"}}
		c.create(t, pod)
		c.waitForPhase(t, name, v1.PodSucceeded)
		return c.output(t, name)
	}

	said := wanting("greedy", 1)
	if said != withGPU(0) && said != withGPU(1) {
		t.Errorf("the pod says\n%s", said)
	}
	equal(t, "what a pod without a GPU says", wanting("without", 0), "NVIDIA_VISIBLE_DEVICES=all\n"+
		"cat: can't open '/usr/lib64/libcuda.so.1': No such file or directory\n"+
		"nvidia0 does not open\nnvidia1 does not open\n")
}

func TestWhatADriversUpgradeMovesIsWhatTheNextContainerGets(t *testing.T) {
	c := theCluster(t)
	nodes := c.installGPUs(t, byCdi)
	c.waitForResource(t, gpu, "2 of 2")
	moveLink := func(link, to string) {
		must(t, os.Symlink(to, link+".next"))
		must(t, os.Rename(link+".next", link))
	}

	library := filepath.Join(filepath.Dir(cudaLibrary), "libcuda.so.580.65.06")
	must(t, os.WriteFile(library, []byte("this is the next driver\n"), 0o755))
	moveLink(cudaLink, filepath.Base(library))
	must(t, os.Remove(cudaLibrary))
	moveLink(nvidiaRoot+"/dev/nvidia0", "moved")
	nodes["nvidia0"] = nodes["moved"]
	eventually(t, func(context.Context) error {
		text, err := os.ReadFile(gpuDocument)
		for _, path := range []string{library, nvidiaRoot + "/dev/moved"} {
			if err == nil && !bytes.Contains(text, []byte(path)) {
				err = fmt.Errorf("the document does not name %s: %s", path, text)
			}
		}
		return err
	})

	c.create(t, withGPUs("next", 2, showGPUs(nodes)))
	c.waitForPhase(t, "next", v1.PodSucceeded)
	equal(t, "what the pod says", c.output(t, "next"), cdiVariables+"this is the next driver\n"+
		"nvidia0\nnvidia1\nnvidiactl\nnvidia0 opens\nnvidia1 opens\n")
}
