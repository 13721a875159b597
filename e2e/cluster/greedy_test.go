// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// modest is a request for a small part of one card.
var modest = asked{count: 1, memory: 3000, cores: 30}

func TestAPodOfHAMisHasNoMoreForItsOwnVariables(t *testing.T) {
	c := theCluster(t)
	h := c.startRequested(t)
	greedy := containerAsking("main", modest, stay)
	for name, value := range map[string]string{"CUDA_DEVICE_MEMORY_LIMIT_0": "99999m", "CUDA_DEVICE_SM_LIMIT": "100",
		"CUDA_DEVICE_SM_LIMIT_0": "100", "GPU_CORE_UTILIZATION_POLICY": "disable",
		"CUDA_TASK_PRIORITY":              "0",
		"CUDA_DEVICE_MEMORY_SHARED_CACHE": "/tmp/own.cache", "NVIDIA_VISIBLE_DEVICES": "all"} {
		greedy.Env = append(greedy.Env, v1.EnvVar{Name: name, Value: value})
	}

	pod := c.createAsking(t, podAsking("greedy", greedy))

	h.expectSaid(t, pod.UID, "main", 1)
}

// annotatePod sets annotations, which any user with the right to patch pods can do.
func (c *cluster) annotatePod(t *testing.T, name string, values map[string]string) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": values}})
	must(t, err)
	_, err = c.pods().Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	must(t, err)
}

func TestAContainerKeepsWhatItHadFirstWhateverItsPodsAnnotationsSayLater(t *testing.T) {
	c := theCluster(t)
	h := c.startRequested(t)
	pod := c.createAsking(t, podAsking("patched", containerAsking("main", modest, stay)))
	h.expectSaid(t, pod.UID, "main", 1)

	more := strings.Replace(h.placementOf(pod.UID).allocated, "3000,30", "80000,100", 1)
	c.annotatePod(t, "patched", map[string]string{allocatedKey: more, remainingKey: more, phaseKey: "allocating"})
	c.waitForPhase(t, pod.Name, v1.PodRunning) // kubelet runs commands in containers that it knows
	_, err := c.run(t.Context(), pod, "sh", "-c", tellToEnd)
	must(t, err)

	h.expectSaid(t, pod.UID, "main", 2)
}

// forged makes a pod that bypasses every scheduler and brings its own placement annotations.
func forged(name string, asks asked, allocated string) *v1.Pod {
	pod := podAsking(name, containerAsking("main", asks, stay))
	pod.Spec.NodeName = nodeName
	pod.Annotations = map[string]string{vgpuNodeKey: nodeName, vgpuTimeKey: unixTime(), bindTimeKey: unixTime(),
		phaseKey: "allocating", remainingKey: allocated, allocatedKey: allocated}
	pod.Labels = map[string]string{vgpuNodeKey: nodeName}
	return pod
}

// expectRefused waits until the pod's status gives this reason, and checks that no container of the
// pod started.
func (c *cluster) expectRefused(t *testing.T, h *hami, pod *v1.Pod, why string) {
	t.Helper()
	now, err := h.waitFor(t.Context(), pod, func(now *v1.Pod) bool {
		return now.Status.Phase == v1.PodFailed || strings.Contains(describe(now), why)
	})
	must(t, err)
	if said := describe(now); !strings.Contains(said, why) {
		t.Errorf("pod %s: %s\nwhich does not say %q", pod.Name, said, why)
	}
	expectNoReport(t, pod)
}

func TestAPodThatForgesItsAnnotationsIsNotStarted(t *testing.T) {
	c := theCluster(t)
	h := c.startRequested(t)
	owner := c.createAsking(t, podAsking("owner", containerAsking("main", asked{count: 1, percentage: 100, cores: 100}, stay)))
	h.expectSaid(t, owner.UID, "main", 1)
	owned, free := h.placementOf(owner.UID).parts["main"][0].card.ID, h.cards[7].ID

	of := func(card, size string) string { return card + ",NVIDIA," + size + ":" }
	two := asked{count: 2, memory: 3000, cores: 30}
	for name, one := range map[string]struct {
		asks           asked
		allocated, why string
	}{
		"memory": {modest, of(free, "80000,30") + ";", "80000 MiB of " + free + ", where the container asks for 3000"},
		"cores":  {modest, of(free, "3000,100") + ";", "100 % of the cores of " + free + ", where the container asks for 30"},
		"cards":  {modest, of(free, "3000,30") + of(owned, "3000,30") + ";", "2 devices, where the container asks for 1"},
		"twice":  {two, of(free, "3000,30") + of(free, "3000,30") + ";", free + " is there twice"},
		"others": {modest, of(owned, "3000,30") + ";", "device " + owned + " has 81920 MiB; 81920 MiB and 100 percent"},
		"stray":  {modest, of("GPU-1", "3000,30") + ";", "GPU-1 is not a card of this node"},
		"none":   {modest, "", "no scheduler has chosen GPUs for it"},
		"broken": {modest, "broken,;:", "it has 2 fields, not 4"},
	} {
		c.expectRefused(t, h, c.createAsking(t, forged(name, one.asks, one.allocated)), one.why)
	}
}

// waitForRemoval waits until the agent has removed the directory of a container that is gone. The
// agent does so a minute after kubelet has forgotten the container, which happens when the next pod
// arrives.
func (c *cluster) waitForRemoval(t *testing.T, directory string) {
	t.Helper()
	c.create(t, podAsking("next", containerAsking("main", modest, stay)))
	must(t, waitUntil(2*patient, func(context.Context) error {
		if _, err := os.Stat(directory); !os.IsNotExist(err) {
			return fmt.Errorf("%s is still there: %v", directory, err)
		}
		return nil
	}))
}

// The agent reads a container's own directory as root, so it must not follow the container's links.
func TestLinksThatAContainerLeavesLeadNowhere(t *testing.T) {
	c := theCluster(t)
	h := c.startRequested(t)
	const victim = "/var/lib/e2e-victim"
	must(t, os.MkdirAll(victim, 0o700))
	t.Cleanup(func() { must(t, os.RemoveAll(victim)) })
	must(t, os.WriteFile(filepath.Join(victim, "file"), []byte("mine\n"), 0o600))
	links := `ln -s ` + victim + ` ` + hookDirectory + `/directory; ln -s ` + victim + `/file ` + hookDirectory +
		`/x.cache; ln -s / ` + hookDirectory + `/containers; `
	pod := c.createAsking(t, podAsking("links", containerAsking("main", modest, links+stay)))
	h.expectSaid(t, pod.UID, "main", 1)

	c.waitForPhase(t, pod.Name, v1.PodRunning) // kubelet runs commands in containers that it knows
	_, err := c.run(t.Context(), pod, "sh", "-c", tellToEnd)
	must(t, err)
	want := strings.Replace(received(pod.UID, "main", h.placementOf(pod.UID).parts["main"]),
		"\nlibvgpu.so\nown\n", "\ncontainers\ndirectory\nlibvgpu.so\nown\nx.cache\n", 1)
	eventually(t, func(context.Context) error {
		texts := waitForSaid(t, pod.UID, "main", 2)
		for _, text := range texts {
			if text == want {
				return nil
			}
		}
		return fmt.Errorf("the container has %q, not %q", texts, want)
	})
	must(t, c.removePods(t.Context()))
	if longRun(t) > 0 {
		c.waitForRemoval(t, filepath.Join(hookDirectory, "containers", string(pod.UID)+"_main"))
	}

	content, err := os.ReadFile(filepath.Join(victim, "file"))
	must(t, err)
	equal(t, "what the links led to", string(content), "mine\n")
	about, err := os.Stat(victim)
	must(t, err)
	equal(t, "who may go there", about.Mode().Perm(), os.FileMode(0o700))
}
