// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	hookDirectory = "/usr/local/vgpu"   // HAMi's directory in containers and on the node
	saidDirectory = "/var/lib/e2e-said" // one file for each start of a container
)

// asked is a container's request: a count of GPUs, and for each of them memory in MiB or percent,
// and cores in percent.
type asked struct{ count, memory, percentage, cores int64 }

func askedBy(container v1.Container) asked {
	limit := func(name v1.ResourceName) int64 {
		value := container.Resources.Limits[name]
		return value.Value()
	}
	return asked{limit(gpu), limit(gpuMemory), limit(gpuPercentage), limit(gpuCores)}
}

func (a asked) memoryOn(one card) int64 {
	switch {
	case a.memory > 0:
		return a.memory
	case a.percentage > 0:
		return one.Memory * a.percentage / 100
	}
	return one.Memory
}

func (a asked) limits() v1.ResourceList {
	limits := v1.ResourceList{}
	for name, value := range map[v1.ResourceName]int64{
		gpu: a.count, gpuMemory: a.memory, gpuPercentage: a.percentage, gpuCores: a.cores} {
		if value > 0 {
			limits[name] = *resource.NewQuantity(value, resource.DecimalSI)
		}
	}
	return limits
}

// showVGPUs prints the container's limits, GPUs, preloaded library, and the files of its own
// directory. It first writes the pod's UID and the container's name there: a second name shows that
// two containers share the directory.
const showVGPUs = `env | grep -E '^(CUDA_|NVIDIA_VISIBLE|GPU_CORE)' | sort | sed -E 's#/[0-9a-f-]{32,36}#/GRANT#'; ` +
	`ls /dev | grep '^nvidia[0-9]'; [ ! -s /etc/ld.so.preload ] || cat /etc/ld.so.preload; [ ! -d ` + hookDirectory +
	` ] || { echo "$POD_UID $CONTAINER" >>` + hookDirectory + `/own; sort -u ` + hookDirectory + `/own; ls ` +
	hookDirectory + `; }; `

// report writes one report into /said: the container's identity, its pod's annotation, and the
// output of showVGPUs. The rename makes a report complete as soon as it is visible.
const report = `said=$(mktemp /said/.XXXXXX); { echo "$POD_UID $CONTAINER"; echo "$ALLOCATED"; ` + showVGPUs +
	`} >$said 2>&1; mv $said /said/${said#/said/.}; `

// crashTwice ends the container with an error on its first two runs.
const crashTwice = `echo >>/runs/$CONTAINER; [ $(wc -l </runs/$CONTAINER) -gt 2 ] || exit 1; `

// containerAsking makes a container that reports, then runs the script.
func containerAsking(name string, asks asked, script string) v1.Container {
	from := func(name, path string) v1.EnvVar {
		return v1.EnvVar{Name: name, ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: path}}}
	}
	return v1.Container{
		Name: name, Image: busyboxImage, Command: []string{"sh", "-c", report + script},
		Resources: v1.ResourceRequirements{Limits: asks.limits()},
		Env: []v1.EnvVar{{Name: "CONTAINER", Value: name}, from("POD_UID", "metadata.uid"),
			from("ALLOCATED", "metadata.annotations['"+allocatedKey+"']")},
		VolumeMounts: []v1.VolumeMount{{Name: "said", MountPath: "/said"}, {Name: "runs", MountPath: "/runs"}},
	}
}

// podAsking makes a pod for HAMi's scheduler. It uses the node's network, because a network of its
// own is the slowest part of a pod's start.
func podAsking(name string, containers ...v1.Container) *v1.Pod {
	pod := podOf(name, 0, "")
	kind := v1.HostPathDirectoryOrCreate
	pod.Spec.SchedulerName, pod.Spec.HostNetwork = hamisName, true
	pod.Spec.RestartPolicy = v1.RestartPolicyAlways
	pod.Spec.Containers = containers
	pod.Spec.Volumes = []v1.Volume{
		{Name: "said", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: saidDirectory, Type: &kind}}},
		{Name: "runs", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	return pod
}

// withInit gives the pod these init containers.
func withInit(pod *v1.Pod, containers ...v1.Container) *v1.Pod {
	pod.Spec.InitContainers = containers
	return pod
}

func sidecar(container v1.Container) v1.Container {
	always := v1.ContainerRestartPolicyAlways
	container.RestartPolicy = &always
	return container
}

// byIndex sorts the parts by card index, the order in which the container sees its GPUs.
func byIndex(parts []part) []part {
	return slices.SortedFunc(slices.Values(parts), func(a, b part) int { return cmp.Compare(a.card.Index, b.card.Index) })
}

// received returns the report that a container must write, given the parts that the scheduler chose
// for it. Without CDI, a variable names the GPUs.
func (h *hami) received(pod types.UID, container string, parts []part) string {
	text := received(pod, container, parts)
	if !h.namesGPUs || text == "" {
		return text
	}
	var names []string
	for _, one := range byIndex(parts) {
		names = append(names, one.card.ID)
	}
	return strings.Replace(text, "VISIBLE_DEVICES=void", "VISIBLE_DEVICES="+strings.Join(names, ","), 1)
}

// received returns that report for a grant that arrives by CDI.
func received(pod types.UID, container string, parts []part) string {
	if len(parts) == 0 {
		return ""
	}
	var text string
	sorted := byIndex(parts)
	for n, one := range sorted {
		text += fmt.Sprintf("CUDA_DEVICE_MEMORY_LIMIT_%d=%dm\n", n, one.memory)
	}
	text += fmt.Sprintf("CUDA_DEVICE_MEMORY_SHARED_CACHE=%s/GRANT.cache\nCUDA_DEVICE_SM_LIMIT=%d\n",
		hookDirectory, sorted[0].cores)
	for n, one := range sorted {
		text += fmt.Sprintf("CUDA_DEVICE_SM_LIMIT_%d=%d\n", n, one.cores)
	}
	text += "CUDA_TASK_PRIORITY=1\nGPU_CORE_UTILIZATION_POLICY=default\nNVIDIA_VISIBLE_DEVICES=void\n"
	for _, one := range sorted {
		text += fmt.Sprintf("nvidia%d\n", one.card.Index)
	}
	return text + fmt.Sprintf("%[1]s/libvgpu.so\n%[2]s %[3]s\nlibvgpu.so\nown\n", hookDirectory, pod, container)
}

// said is one report.
type said struct {
	pod        types.UID
	container  string
	annotation string
	text       string
}

// readSaid adds all reports to known that are not yet in it.
func readSaid(known map[string]said) error {
	entries, err := os.ReadDir(saidDirectory)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if _, read := known[entry.Name()]; read || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(saidDirectory, entry.Name()))
		if err != nil {
			return err
		}
		lines := strings.SplitN(string(content), "\n", 3)
		if len(lines) != 3 {
			return fmt.Errorf("a container reports %q", content)
		}
		one := said{annotation: lines[1], text: lines[2]}
		if _, err := fmt.Sscan(lines[0], &one.pod, &one.container); err != nil {
			return fmt.Errorf("a container reports %q: %w", content, err)
		}
		known[entry.Name()] = one
	}
	return nil
}

// expectNoReport checks that no container of the pod has started.
func expectNoReport(t *testing.T, pod *v1.Pod) {
	t.Helper()
	known := map[string]said{}
	must(t, readSaid(known))
	for _, one := range known {
		if one.pod == pod.UID {
			t.Errorf("a container of %s has\n%s", pod.Name, one.text)
		}
	}
}

// mismatch compares a report with the scheduler's choice for its pod. It returns "" if they agree.
func (h *hami) mismatch(one said) string {
	chosen := h.placementOf(one.pod)
	if one.annotation != chosen.allocated {
		return fmt.Sprintf("%s of %s is told %q, and %q was chosen", one.container, one.pod, one.annotation,
			chosen.allocated)
	}
	if want := h.received(one.pod, one.container, chosen.parts[one.container]); one.text != want {
		return fmt.Sprintf("%s of %s (%s) has\n%snot\n%s", one.container, one.pod, one.annotation, one.text, want)
	}
	return ""
}

// waitForSaid waits until a container has written this many reports, and returns their texts.
func waitForSaid(t *testing.T, pod types.UID, container string, runs int) (texts []string) {
	t.Helper()
	known := map[string]said{}
	eventually(t, func(context.Context) error {
		if err := readSaid(known); err != nil {
			return err
		}
		texts = nil
		for _, one := range known {
			if one.pod == pod && one.container == container {
				texts = append(texts, one.text)
			}
		}
		if len(texts) < runs {
			return fmt.Errorf("%s of %s has reported %d times, not %d", container, pod, len(texts), runs)
		}
		return nil
	})
	return texts
}

// expectSaid waits for this many reports of a container and checks that each matches the
// scheduler's choice.
func (h *hami) expectSaid(t *testing.T, pod types.UID, container string, runs int) {
	t.Helper()
	for _, text := range waitForSaid(t, pod, container, runs) {
		equal(t, "what the container finds", text, h.received(pod, container, h.placementOf(pod).parts[container]))
	}
}

// createAsking creates the pod and returns it as the API server stored it.
func (c *cluster) createAsking(t *testing.T, pod *v1.Pod) *v1.Pod {
	t.Helper()
	made, err := c.pods().Create(t.Context(), pod, metav1.CreateOptions{})
	must(t, err)
	return made
}
