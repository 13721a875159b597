// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"tessera/e2e/nvidia"
)

const outOfMemory = 2 // CUDA_ERROR_OUT_OF_MEMORY

// expectMemory checks the program in a pod. Its allocations must have succeeded up to its share and
// then failed. It must see no more memory than its share, and its region must agree. times is how
// often its log must report this.
func (c *cluster) expectMemory(t *testing.T, driver *nvidia.Driver, name string, share limitOfDevice, times int) {
	t.Helper()
	var took, free, total, device, used, all uint64
	var refused int
	c.hear(t, name, times, "took %d bytes, then %d", &took, &refused)
	c.hear(t, name, times, "sees %d free of %d, device %d, NVML %d of %d", &free, &total, &device, &used, &all)
	r := regionAt(t, c.regionOf(t, name))
	held := r.held()
	if len(held) != 1 {
		t.Fatalf("in the region of %s there is not one process: %+v", name, held)
	}
	one, most := held[0], share.Bytes
	share.UUID = driver.UUID(0)

	// The program's context and module count as well, although it did not allocate them.
	equal(t, "what "+name+" was given", took+one.Context+one.Module, most)
	equal(t, "what it was told then", refused, outOfMemory)
	equal(t, "what it sees", []uint64{free, total, device, used, all}, []uint64{0, most, most, most, most})
	equal(t, "what its region says", region{Magic: r.Magic, Major: r.Major, Minor: r.Minor, Devices: r.Devices,
		Switch: r.Switch, Priority: r.Priority}, region{Magic: regionMagic, Major: 1, Minor: 2,
		Devices: []limitOfDevice{share}, Switch: 1, Priority: 1})
	if one.PID <= 0 || one.Status != 1 || one.Data != took || one.Total != most {
		t.Errorf("of the process in %s its region says %+v", name, one)
	}
}

// share returns the percentage of the GPU's time that the pod's program got, by the program's own
// count.
func (c *cluster) share(t *testing.T, name string) float64 {
	t.Helper()
	var kernels, each, passed float64
	c.hear(t, name, 1, "ran %g kernels of %g ns in %g ns", &kernels, &each, &passed)
	return 100 * kernels * each / passed
}

// expectShare accepts down to a quarter of the limit, because the machine may be busy. Above the
// limit it accepts only three percent, for one launch too many.
func expectShare(t *testing.T, name string, got, limit float64) {
	t.Helper()
	fmt.Printf("measured pod %s has %.1f %% of a GPU's time, of %.0f %%\n", name, got, limit)
	if got > limit+3 || got < limit/4 {
		t.Errorf("pod %s has %.1f %% of the GPU's time, and its limit is %.0f %%", name, got, limit)
	}
}

func TestTwoPodsOnOneGPUHaveEachItsOwnMemoryAndItsOwnTime(t *testing.T) {
	c := theCluster(t)
	driver := c.installLimiterBy(t, tenOfEach, "", c.addMonitor(t, vgpuFiles, nvidiaRoot))
	pods := map[string]int64{"three": 3, "six": 6}
	for name, count := range pods {
		pod := spinning(name, count, "take", piece, "view", "await", begin, "run 2000000 6000", "await", end)
		pod.Spec.SecurityContext = &v1.PodSecurityContext{RunAsUser: new(1000 + count)} // images seldom run as root
		c.create(t, pod)
	}
	regions := map[string]string{}
	for name, count := range pods {
		c.expectMemory(t, driver, name, tenths(count), 1)
		regions[name] = c.regionOf(t, name)
	}

	// The monitor knows each pod before its kernels run: they end before a second reading otherwise.
	for name := range pods {
		eventually(t, func(ctx context.Context) error {
			got, err := c.metricsOf(ctx, name)
			if err == nil && got["tessera_container_memory_granted_bytes"] == 0 {
				err = fmt.Errorf("the monitor has no metrics of pod %s: %v", name, got)
			}
			return err
		})
	}
	begun := time.Now().Unix()
	tell(t, begin)
	for name, path := range regions {
		eventually(t, func(context.Context) error {
			r, err := readRegion(path)
			if err == nil && (r.held()[0].sm == 0 || r.lastKernel < begun) {
				err = fmt.Errorf("in the region of %s no kernel ran since %d: %+v", name, begun, r)
			}
			return err
		})
	}
	for name, count := range pods {
		c.expectMetrics(t, name, tenths(count))
	}
	three, six := c.share(t, "three"), c.share(t, "six")
	expectShare(t, "three", three, 30)
	expectShare(t, "six", six, 60)
	if six < 1.1*three {
		t.Errorf("of one GPU's time one pod has %.1f %%, and one that was granted twice as much %.1f %%", three, six)
	}

	tell(t, end)
	for name, path := range regions {
		c.waitForPhase(t, name, v1.PodSucceeded)
		equal(t, "who is in the region of "+name+" at its end", regionAt(t, path).held(), []slot(nil))
	}
}

func TestAPodOnAGPUHasNoMoreForItsOwnVariablesAndOneWithoutAShareHasNothing(t *testing.T) {
	c := theCluster(t)
	driver := c.installLimiter(t)
	greedy := onGPU("greedy", 3, tellRegion+"spin take "+piece+" view run 2000000 2000 await "+end+"; ls /tmp")
	main := &greedy.Spec.Containers[0]
	for name, value := range map[string]string{"CUDA_DEVICE_MEMORY_LIMIT_0": "99999m", "CUDA_DEVICE_SM_LIMIT": "100",
		"CUDA_DEVICE_SM_LIMIT_0": "100", "GPU_CORE_UTILIZATION_POLICY": "disable", "CUDA_DISABLE_CONTROL": "true",
		"CUDA_DEVICE_MEMORY_SHARED_CACHE": "/tmp/own.cache", "CUDA_TASK_PRIORITY": "0", "LD_PRELOAD": ""} {
		main.Env = append(main.Env, v1.EnvVar{Name: name, Value: value})
	}
	c.create(t, greedy)
	c.create(t, onGPU("without", 0, "{ ls /etc/ld.so.preload /run/tessera "+vgpuFiles+
		"; ls /dev | grep nvidia; spin view; } >/tmp/said 2>&1; cat /tmp/said"))

	c.expectMemory(t, driver, "greedy", tenths(3), 1)
	expectShare(t, "greedy", c.share(t, "greedy"), 30)
	tell(t, end)
	c.waitForPhase(t, "greedy", v1.PodSucceeded)
	_, there, _ := strings.Cut(c.output(t, "greedy"), "\nran ")
	_, there, _ = strings.Cut(there, "\n")
	equal(t, "what is where the pod wanted its region", there, "")

	c.waitForPhase(t, "without", v1.PodSucceeded)
	const none = ": No such file or directory\n"
	equal(t, "what a pod without a share finds", c.output(t, "without"), "ls: /etc/ld.so.preload"+none+
		"ls: /run/tessera"+none+"ls: "+vgpuFiles+none+
		"spin: error while loading shared libraries: libcuda.so.1: cannot open shared object file"+none)
}

// A pod's volume covers a directory that the runtime has mounted above it. It does not cover a file
// that the runtime has mounted at the volume's own path.
func TestAPodWithAVolumeInThePlaceOfItsLimitsIsHeldToThemStill(t *testing.T) {
	c := theCluster(t)
	driver := c.installLimiter(t)
	maps := c.client.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	_, err := maps.Create(t.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "own"}, Data: map[string]string{
		"limits": "tessera-limits 1\ndevice " + driver.UUID(0) + " memory=0 cores=0\n", "no-limits": "open\n"}},
		metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() { must(t, maps.Delete(context.Background(), "own", metav1.DeleteOptions{})) })
	pod := onGPU("overlaid", 3, tellRegion+"spin take "+piece+" view await "+end)
	pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "own", VolumeSource: v1.VolumeSource{
		ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "own"}}}})
	main := &pod.Spec.Containers[0]
	for _, name := range []string{"limits", "no-limits"} {
		main.VolumeMounts = append(main.VolumeMounts, v1.VolumeMount{
			Name: "own", SubPath: name, MountPath: "/run/tessera/vgpu/" + name, ReadOnly: true})
	}
	c.create(t, pod)

	c.expectMemory(t, driver, "overlaid", tenths(3), 1)
	tell(t, end)
	c.waitForPhase(t, "overlaid", v1.PodSucceeded)
}

// kill kills the node's only process whose command line begins with these words.
func kill(t *testing.T, words ...string) {
	t.Helper()
	found := processesNamed(t, words[0], words[1:]...)
	equal(t, fmt.Sprint("processes named ", words), len(found), 1)
	must(t, syscall.Kill(found[0], syscall.SIGKILL))
}

func TestWhoeverComesAfterAProcessOrContainerThatWasKilledHasAllOfItsShare(t *testing.T) {
	c := theCluster(t)
	driver := c.installLimiter(t)
	pod := onGPU("killed", 6, tellRegion+"until spin take "+piece+" view await "+end+"; do :; done")
	pod.Spec.RestartPolicy = v1.RestartPolicyAlways
	c.create(t, pod)
	c.expectMemory(t, driver, "killed", tenths(6), 1)
	path := c.regionOf(t, "killed")
	before, err := os.Stat(path)
	must(t, err)

	kill(t, "spin", "take")
	c.expectMemory(t, driver, "killed", tenths(6), 2)

	kill(t, "sh", "-c", pod.Spec.Containers[0].Command[2])
	eventually(t, func(context.Context) error {
		if status := c.pod(t, "killed").Status.ContainerStatuses; status[0].RestartCount != 1 || !status[0].Ready {
			return errors.New("the container has not started again: " + describe(c.pod(t, "killed")))
		}
		return nil
	})
	c.expectMemory(t, driver, "killed", tenths(6), 1)
	after, err := os.Stat(c.regionOf(t, "killed"))
	must(t, err)
	equal(t, "whether the region is the one that it had", os.SameFile(before, after), true)
}

func TestAPodHasTheGPUThatItsAnnotationsAskForAndAllOfItWithoutTheLibraryWhereThatIsConfigured(t *testing.T) {
	c := theCluster(t)
	driver := c.installLimiterAs(t, "        mode: requested\n        unplaced: fit\n        allowDisableControl: true\n")
	asking := func(name, script string) *v1.Pod {
		pod := onGPU(name, 1, tellRegion+script)
		pod.Annotations = map[string]string{"tessera.dev/gpu-memory": "3000", "tessera.dev/gpu-cores": "20"}
		return pod
	}
	c.create(t, asking("held", "exec spin take "+piece+" view run 2000000 1500 await "+end))
	share := limitOfDevice{Bytes: 3000 << 20, Cores: 20}
	c.expectMemory(t, driver, "held", share, 1)
	expectShare(t, "held", c.share(t, "held"), 20)

	free := asking("free", "spin take "+piece+" && test ! -e /etc/ld.so.preload")
	main := &free.Spec.Containers[0]
	main.Env = append(main.Env, v1.EnvVar{Name: "CUDA_DISABLE_CONTROL", Value: "true"})
	c.create(t, free)
	c.waitForPhase(t, "free", v1.PodSucceeded)
	var took uint64
	var refused int
	c.hear(t, "free", 1, "took %d bytes, then %d", &took, &refused)
	if all := tenths(10).Bytes; took < all-2*share.Bytes {
		t.Errorf("without the library a program was given %d bytes of %d: %s", took, all, c.output(t, "free"))
	}
}

// Without CDI the agent matches a grant to its container during Allocate, and proves the match
// before the container is made.
func TestWithoutCDITwoPodsOnOneGPUHaveEachTheMemoryAndTheTimeThatItAskedFor(t *testing.T) {
	c := theCluster(t)
	c.switchCDIOff(t)
	driver := c.installLimiterBy(t, "    strategies: [envvar, device-specs]\n    policy: vgpu\n    replicas: 10\n",
		"        mode: requested\n", func(m manifest) { matching(t, m) })
	c.startHAMi(t, 1)
	asks := map[string]asked{"less": {count: 1, memory: 3000, cores: 20}, "more": {count: 1, memory: 9000, cores: 60}}
	for name, one := range asks {
		pod := spinning(name, 1, "take", piece, "view", "await", begin, "run 2000000 4000", "await", end)
		pod.Spec.SchedulerName = hamisName
		pod.Spec.Containers[0].Resources.Limits = one.limits()
		bringDriver(pod)
		c.create(t, pod)
	}
	for name, one := range asks {
		c.expectMemory(t, driver, name, limitOfDevice{Bytes: uint64(one.memory) << 20, Cores: uint64(one.cores)}, 1)
	}

	tell(t, begin)
	for name, one := range asks {
		expectShare(t, name, c.share(t, name), float64(one.cores))
	}
	tell(t, end)
	for name := range asks {
		c.waitForPhase(t, name, v1.PodSucceeded)
	}
}
