// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	registry "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"tessera/e2e/nvidia"
)

const (
	glibcImage  = "e2e.test/glibc:1"
	limiterFrom = "/usr/lib/tessera/libvgpu.so" // Tessera's own library in the agent's image
	fakeCard    = "/var/lib/e2e-fake-card"      // the state that processes of the fake driver share
	fakeCardIn  = "/fake-card"                  // its path in containers
	nvmlLibrary = "libnvidia-ml.so.570.172.08"  // the file name in NVIDIA's driver
	piece       = "2097152"                     // bytes of an allocation; it divides each share
	begin, end  = fakeCardIn + "/begin", fakeCardIn + "/end"

	oneGPU = `driver: "570.172.08"
defaults: {model: NVIDIA L4, memory: 23034, compute: "8.9"}
gpus:
- {uuid: GPU-0b7d5a44-6a1b-4c9e-8f0e-5a2f6b1d9c10, pci: "0000:31:00.0"}
`
)

// importGlibc imports an image whose programs use its own glibc, like most images. It has the GPU
// program spin, and no driver.
var importGlibc = sync.OnceValue(func() error {
	content, err := busyboxFiles()
	if err != nil {
		return err
	}
	libraries, err := librariesOf(cudaPath, libraryPath) // spin needs no other library
	if err != nil {
		return err
	}
	paths := map[string]string{"bin/spin": spinPath}
	for _, library := range libraries {
		paths[strings.TrimPrefix(library, "/")] = library
	}
	if err := content.add(paths); err != nil {
		return err
	}
	return importImage(glibcImage, content, registry.Config{Env: []string{"PATH=/bin"}})
})

// installFakeDriver installs a driver on the node that programs can use: NVML and the CUDA library.
// It also makes the directory for the state that the driver's processes share. On a real node the
// card has that state.
func installFakeDriver(t *testing.T) *nvidia.Driver {
	t.Helper()
	t.Cleanup(func() { must(t, os.RemoveAll(nvidiaRoot)) })
	driver := nvidia.InstallAs(t, nvidiaRoot, oneGPU)
	copyProgram(t, cudaPath, cudaLibrary)
	must(t, os.Symlink(filepath.Base(cudaLibrary), cudaLink))
	nvml := filepath.Join(filepath.Dir(cudaLink), "libnvidia-ml.so.1")
	must(t, os.Rename(nvml, filepath.Join(filepath.Dir(nvml), nvmlLibrary)))
	must(t, os.Symlink(nvmlLibrary, nvml))
	must(t, os.MkdirAll(nvidiaRoot+"/dev", 0o755))
	for _, name := range []string{"nvidia0", "nvidiactl"} { // the device numbers of /dev/null
		must(t, unix.Mknod(nvidiaRoot+"/dev/"+name, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	}
	must(t, os.MkdirAll(fakeCard, 0o755))
	t.Cleanup(func() { must(t, os.RemoveAll(fakeCard)) })
	must(t, os.WriteFile(fakeCard+"/fake-nvml.yaml", []byte(oneGPU), 0o644))
	state := fakeCard + "/fake-cuda.state" // any user of a container may write it
	must(t, errors.Join(os.WriteFile(state, nil, 0o666), os.Chmod(state, 0o666)))
	return driver
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to, content, 0o755))
}

// installLimiter divides the GPU into ten virtual ones. The agent installs Tessera's own library,
// which holds containers to their limits.
func (c *cluster) installLimiter(t *testing.T) *nvidia.Driver {
	t.Helper()
	return c.installLimiterAs(t, "")
}

// installLimiterAs does so with further settings of the vgpu section.
func (c *cluster) installLimiterAs(t *testing.T, more string) *nvidia.Driver {
	t.Helper()
	return c.installLimiterBy(t, tenOfEach, more, func(manifest) {})
}

// installLimiterBy also takes the resource's strategies and policy, and an edit of the manifests.
func (c *cluster) installLimiterBy(t *testing.T, division, more string, edit func(manifest)) *nvidia.Driver {
	t.Helper()
	must(t, importGlibc())
	driver := installFakeDriver(t)
	must(t, os.MkdirAll(vgpuFiles, 0o755))
	t.Cleanup(func() { must(t, os.RemoveAll(vgpuFiles)) })
	t.Cleanup(func() { must(t, os.RemoveAll(filepath.Dir(gpuDocument))) })
	change := telling(t, serving(t, `resources:
  - name: nvidia.com/gpu
`+division+`    nvidia:
      vgpu:
        directory: `+vgpuFiles+`
        install: `+limiterFrom+`
        corePolicy: force
`+more+`      driverRoot: `+nvidiaRoot+`
      devRoot: `+nvidiaRoot+`
      cdiLeaveOut: [hooks]
`, vgpuFiles, nvidiaRoot, filepath.Dir(gpuDocument)))
	c.install(t, byHAMisRights(t, more, func(m manifest) {
		change(m)
		edit(m)
	}),
		append(c.rights(t, "hami"), c.readManifests(t, "examples/daemonset.yaml")...)...)
	c.waitForResource(t, gpu, "10 of 10")
	return driver
}

// tenths returns the limits of a container with this many tenths of the GPU.
func tenths(count int64) limitOfDevice {
	return limitOfDevice{Bytes: uint64(23034*count/10) << 20, Cores: uint64(10 * count)}
}

// tellRegion prints the path of the container's region, from the limits of its grant.
const tellRegion = `sed -n 's/^region=/region /p' /run/tessera/vgpu/limits; `

// onGPU makes a pod with this many tenths of the fake driver's GPU. A shell runs the script.
func onGPU(name string, count int64, script string) *v1.Pod {
	pod := withGPUs(name, count, script)
	pod.Spec.HostNetwork = true // a network of its own is slow to make
	short := int64(1)           // a shell as the first process ignores SIGTERM
	pod.Spec.TerminationGracePeriodSeconds = &short
	pod.Spec.Volumes = []v1.Volume{{Name: "fake", VolumeSource: v1.VolumeSource{
		HostPath: &v1.HostPathVolumeSource{Path: fakeCard}}}}
	main := &pod.Spec.Containers[0]
	main.Image = glibcImage
	main.VolumeMounts = []v1.VolumeMount{{Name: "fake", MountPath: fakeCardIn}}
	main.Env = []v1.EnvVar{{Name: "TESSERA_FAKE_NVML", Value: fakeCardIn + "/fake-nvml.yaml"}}
	return pod
}

// spinning makes such a pod whose first process is spin, with these steps.
func spinning(name string, count int64, steps ...string) *v1.Pod {
	return onGPU(name, count, tellRegion+"exec spin "+strings.Join(steps, " "))
}

// bringDriver mounts the node's driver into the pod. Without CDI only NVIDIA's runtime would do
// that, and these nodes have another one.
func bringDriver(pod *v1.Pod) {
	const path = "/driver"
	pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "driver", VolumeSource: v1.VolumeSource{
		HostPath: &v1.HostPathVolumeSource{Path: filepath.Dir(cudaLink)}}})
	main := &pod.Spec.Containers[0]
	main.VolumeMounts = append(main.VolumeMounts, v1.VolumeMount{Name: "driver", MountPath: path, ReadOnly: true})
	main.Env = append(main.Env, v1.EnvVar{Name: "LD_LIBRARY_PATH", Value: path})
}

// tell creates a file that spin waits for.
func tell(t *testing.T, file string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(fakeCard, filepath.Base(file)), nil, 0o644))
}

// hear waits until the container's log has this many lines of the form, and scans the last one.
func (c *cluster) hear(t *testing.T, name string, times int, form string, into ...any) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		content, err := c.pods().GetLogs(name, &v1.PodLogOptions{}).DoRaw(ctx)
		if err != nil {
			return err
		}
		found := 0
		for line := range strings.Lines(string(content)) {
			if count, err := fmt.Sscanf(line, form, into...); err == nil && count == len(into) {
				found++
			}
		}
		if found < times {
			return fmt.Errorf("pod %s has not said %q %d times: %s", name, form, times, content)
		}
		return nil
	})
}
