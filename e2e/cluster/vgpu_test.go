// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	vgpuFiles   = "/var/lib/e2e-vgpu"
	vgpuLibrary = vgpuFiles + "/libvgpu.so"
	tenOfEach   = byCdi + "    policy: vgpu\n    replicas: 10\n    placement: pack\n"

	// A grant has a new name each time, so the script replaces it.
	showLimits = `env | grep -E '^CUDA_|VISIBLE' | sort | sed 's/[0-9a-f]\{32\}/GRANT/'; `
)

// installVGPUs divides each of two GPUs into ten virtual ones.
func (c *cluster) installVGPUs(t *testing.T) {
	t.Helper()
	must(t, os.MkdirAll(vgpuFiles, 0o755))
	t.Cleanup(func() { must(t, os.RemoveAll(vgpuFiles)) })
	must(t, os.WriteFile(vgpuLibrary, []byte("this is a library\n"), 0o644))
	c.installGPUsWith(t, tenOfEach,
		"vgpu: {directory: "+vgpuFiles+"}, ", vgpuFiles)
	c.waitForResource(t, gpu, "20 of 20")
}

// withTenths returns the output of showLimits in a container with this many tenths of one GPU.
func withTenths(count int64) string {
	return fmt.Sprintf("CUDA_DEVICE_MEMORY_LIMIT_0=%dm\nCUDA_DEVICE_MEMORY_SHARED_CACHE=%s/GRANT.cache\n"+
		"CUDA_DEVICE_SM_LIMIT=%[3]d\nCUDA_DEVICE_SM_LIMIT_0=%[3]d\nCUDA_TASK_PRIORITY=1\nNVIDIA_VISIBLE_DEVICES=void\n", 23034*count/10, vgpuFiles, 10*count)
}

func TestAPodWithVirtualGPUsIsHeldToItsPartWhateverItsOwnVariablesSay(t *testing.T) {
	c := theCluster(t)
	c.installVGPUs(t)
	pod := withGPUs("greedy", 3, showLimits+`cat `+vgpuLibrary+` /etc/ld.so.preload; `+
		`touch `+vgpuFiles+`/a.cache /tmp/vgpulock/lock; ls `+vgpuFiles+`; `+
		`for d in `+vgpuFiles+` /tmp/vgpulock; do grep " $d rw,nosuid,nodev,noexec" /proc/self/mountinfo | wc -l; done; `)
	for name, value := range map[string]string{"CUDA_DEVICE_MEMORY_LIMIT_0": "99999m",
		"CUDA_DEVICE_SM_LIMIT": "100", "CUDA_DEVICE_SM_LIMIT_0": "100", "NVIDIA_VISIBLE_DEVICES": "all"} {
		pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, v1.EnvVar{Name: name, Value: value})
	}
	c.create(t, pod)
	c.waitForPhase(t, "greedy", v1.PodSucceeded)

	equal(t, "what the pod says", c.output(t, "greedy"), withTenths(3)+
		"this is a library\n"+vgpuLibrary+"\na.cache\nlibvgpu.so\n1\n1\n")
}

func TestTheLimitsOfAVirtualGPUAreAFileThatNobodyInItsContainerChanges(t *testing.T) {
	c := theCluster(t)
	c.installVGPUs(t)
	limits := "/run/tessera/vgpu/limits"
	c.create(t, withGPUs("held", 2, fmt.Sprintf(`sed 's/GPU-[^ ]*/GPU/; s/[0-9a-f]\{32\}/GRANT/' %[1]s; `+
		`{ echo >>%[1]s || rm %[1]s || mv %[1]s /tmp || touch %[1]s.more; } 2>/dev/null || echo kept`, limits)))
	c.waitForPhase(t, "held", v1.PodSucceeded)

	equal(t, "what the pod says", c.output(t, "held"), fmt.Sprintf("tessera-limits 1\n"+
		"device GPU memory=%d cores=20\npolicy=default\npriority=1\noversubscribe=no\ncore-policy=fixed\n"+
		"region=%s/GRANT.cache\nkept\n", 23034*2/10<<20, vgpuFiles))
}

// An app container reuses the ids of its init containers. Only kubelet's checkpoint tells the two
// apart.
func TestEachContainerOfAPodHasItsOwnPart(t *testing.T) {
	c := theCluster(t)
	c.installVGPUs(t)
	said := filepath.Join("/said", "init")
	pod := withGPUs("two", 1, `cat `+said+`; `+showLimits)
	init := *pod.Spec.Containers[0].DeepCopy()
	init.Name, init.Resources.Limits[gpu] = "init", *resource.NewQuantity(4, resource.DecimalSI)
	init.Command[len(init.Command)-1] = "{ " + showLimits + "} >" + said
	pod.Spec.InitContainers = []v1.Container{init}
	pod.Spec.Volumes = []v1.Volume{{Name: "said", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	for _, container := range []*v1.Container{&pod.Spec.InitContainers[0], &pod.Spec.Containers[0]} {
		container.VolumeMounts = append(container.VolumeMounts, v1.VolumeMount{Name: "said", MountPath: "/said"})
	}
	c.create(t, pod)
	c.waitForPhase(t, "two", v1.PodSucceeded)

	equal(t, "what the containers say", c.output(t, "two"), withTenths(4)+withTenths(1))
}

func TestABurstOfPodsWithVirtualGPUsHasEachItsOwnPart(t *testing.T) {
	c := theCluster(t)
	c.installVGPUs(t)
	counts := map[string]int64{}
	for i := range 10 {
		name := fmt.Sprintf("burst%d", i)
		counts[name] = int64(1 + i%3)
		c.create(t, withGPUs(name, counts[name], showLimits+stay))
	}
	wrong := 0
	for name, count := range counts {
		c.waitForPhase(t, name, v1.PodRunning)
		// The shares come from two cards if one card has too few left.
		if said := c.output(t, name); !strings.Contains(said, "LIMIT_1") && said != withTenths(count) {
			t.Errorf("%s asked for %d tenths and has\n%s", name, count, said)
			wrong++
		}
	}
	fmt.Printf("measured %d of %d pods with virtual GPUs have what another was granted\n", wrong, len(counts))
}
