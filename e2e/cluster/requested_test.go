// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"tessera/e2e/nvidia"
)

const (
	hookLibrary = hookDirectory + "/libvgpu.so"
	hookLock    = "/tmp/vgpulock" // HAMi's plugin shares it among all containers
)

// makeGPUs puts eight GPUs and a stand-in for HAMi's library on the node. The test's end removes
// them.
func makeGPUs(t *testing.T) *nvidia.Driver {
	t.Helper()
	return makeGPUsOf(t, "8xa100")
}

// makeGPUsOf does the same with the GPUs of any node in demo/hardware.
func makeGPUsOf(t *testing.T, hardware string) *nvidia.Driver {
	t.Helper()
	driver := nvidia.Install(t, nvidiaRoot, hardware)
	installCuda(t)
	must(t, os.MkdirAll(nvidiaRoot+"/dev", 0o755))
	t.Cleanup(func() { must(t, os.RemoveAll(nvidiaRoot+"/dev")) })
	for _, name := range strings.Fields("0 1 2 3 4 5 6 7 ctl") { // the device numbers of /dev/null
		must(t, unix.Mknod(nvidiaRoot+"/dev/nvidia"+name, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	}
	for _, directory := range []string{hookDirectory, hookLock, saidDirectory} {
		must(t, os.MkdirAll(directory, 0o755))
		t.Cleanup(func() { must(t, os.RemoveAll(directory)) })
	}
	must(t, os.WriteFile(hookLibrary, []byte("this is a library\n"), 0o644))
	return driver
}

// installRequested divides each of eight GPUs into ten virtual ones, as large as pods ask for.
// `more` are further settings of the vgpu section.
func (c *cluster) installRequested(t *testing.T, more string) {
	t.Helper()
	c.installRequestedBy(t, byCdi, more, func(manifest) {})
}

// installRequestedBy also takes the strategies and an edit of the manifests.
func (c *cluster) installRequestedBy(t *testing.T, strategies, more string, edit func(manifest)) {
	t.Helper()
	c.installSharing(t, strategies, more, edit)
	c.waitForResource(t, gpu, "80 of 80")
}

// installSharing does the same for any number of GPUs.
func (c *cluster) installSharing(t *testing.T, strategies, more string, edit func(manifest)) {
	t.Helper()
	t.Cleanup(func() { must(t, os.RemoveAll("/var/run/cdi")) })
	change := telling(t, serving(t, `resources:
  - name: nvidia.com/gpu
`+strategies+`    policy: vgpu
    replicas: 10
    nvidia: {vgpu: {mode: requested`+more+`}, driverRoot: `+nvidiaRoot+`, devRoot: `+nvidiaRoot+`, cdiLeaveOut: [hooks]}
`, nvidiaRoot, hookDirectory, "/var/run/cdi"))
	c.install(t, byHAMisRights(t, more, func(m manifest) {
		change(m)
		edit(m)
	}),
		append(c.rights(t, "hami"), c.readManifests(t, "examples/daemonset.yaml")...)...)
}

// byHAMisRights extends an edit: the agent gets the account that may read pods. The policies let it
// write placements if `more` says "unplaced: fit".
func byHAMisRights(t *testing.T, more string, change func(manifest)) func(manifest) {
	return func(m manifest) {
		t.Helper()
		change(m)
		setVariable(t, m, "fitsPods", strconv.FormatBool(strings.Contains(more, "unplaced: fit")))
		if m.object.GetKind() == "DaemonSet" {
			must(t, unstructured.SetNestedField(m.object.Object, "tessera-hami",
				"spec", "template", "spec", "serviceAccountName"))
		}
	}
}

// startRequested prepares kubelet, GPUs and agent, and schedules pods. Ended containers restart
// within a second.
func (c *cluster) startRequested(t *testing.T) *hami {
	t.Helper()
	c.configureKubelet(t, "crashLoopBackOff: {maxContainerRestartPeriod: 1s}\n")
	makeGPUs(t)
	c.installRequested(t, "")
	return c.startHAMi(t, 8)
}

// configureKubelet adds to kubelet's configuration until the test's end.
func (c *cluster) configureKubelet(t *testing.T, more string) {
	t.Helper()
	const path = "/e2e/kubelet.yaml"
	before, err := os.ReadFile(path)
	must(t, err)
	set := func(content string) {
		must(t, os.WriteFile(path, []byte(content), 0o644))
		must(t, c.restart("kubelet", syscall.SIGTERM))
	}
	t.Cleanup(func() { set(string(before)) })
	set(string(before) + more)
}

func TestEachContainerOfBurstsOfPodsHasWhatHAMisSchedulerChoseForIt(t *testing.T) {
	c := theCluster(t)
	b, pods := c.newBurstsOf(t, 15, 30)

	must(t, b.run(t.Context(), pods))

	b.expectNoneWrong(t, "bursts of pods that say how large their GPUs are")
}

// killAgents kills every agent of the node, as the kernel does when memory is short.
func killAgents(t *testing.T) {
	t.Helper()
	for _, id := range processesNamed(t, "/usr/bin/tessera", "agent") {
		must(t, syscall.Kill(id, syscall.SIGKILL))
	}
}

// restartKubelet accepts a node that is not ready yet: kubelet spends seconds on each container
// that ended during its start.
func (c *cluster) restartKubelet(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := c.restart("kubelet", signal); err != nil && !c.processes["kubelet"].running() {
		t.Fatal(err)
	}
}

func TestNoContainerHasWhatIsAnothersWhileAgentsAndKubeletDieAndTheAPIServerIsGone(t *testing.T) {
	c := theCluster(t)
	b, pods := c.newBurstsOf(t, 10, 10) // few: kubelet spends seconds on each failed start
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- b.run(ctx, pods) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})

	open := func() { must(t, c.openService()) }
	kill := func() { killAgents(t) }
	troubles := []func(){kill, c.closeService, open, func() { c.restartKubelet(t, syscall.SIGTERM) },
		kill, c.closeService, open, func() { c.restartKubelet(t, syscall.SIGKILL) }}
	done := 0
	for tick := time.NewTicker(3 * time.Second); ; done++ {
		select {
		case err := <-ended:
			ended <- nil // for the cleanup, which receives once more
			if done%4 == 2 {
				open()
			}
			must(t, err)
			b.expectNoneWrong(t, fmt.Sprintf("the same with %d kills, restarts and outages", done))
			return
		case <-tick.C:
			troubles[done%len(troubles)]()
		}
	}
}

func TestAContainerThatHasAllOfAGPUBeforeAnotherOfItsPodIsNotInItsWay(t *testing.T) {
	c := theCluster(t)
	h := c.startRequested(t)
	all := asked{count: 8, percentage: 100, cores: 100}

	pod := c.createAsking(t, withInit(podAsking("all", containerAsking("main", all, stay)),
		containerAsking("init", all, "")))

	h.expectSaid(t, pod.UID, "init", 1)
	h.expectSaid(t, pod.UID, "main", 1)
}
