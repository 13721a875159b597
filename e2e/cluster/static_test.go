// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const staticPods = "/e2e/static"

// startStatic gives kubelet a static pod, and returns the mirror pod that kubelet creates at the
// API server.
func (c *cluster) startStatic(t *testing.T, pod *v1.Pod) *v1.Pod {
	t.Helper()
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	pod.Namespace, pod.Spec.NodeName = metav1.NamespaceDefault, ""
	content, err := json.Marshal(pod)
	must(t, err)
	path := filepath.Join(staticPods, pod.Name+".json")
	t.Cleanup(func() { must(t, os.Remove(path)) })
	must(t, os.WriteFile(path, content, 0o644))
	var mirror *v1.Pod
	eventually(t, func(ctx context.Context) (err error) {
		mirror, err = c.pods().Get(ctx, pod.Name+"-"+nodeName, metav1.GetOptions{})
		return err
	})
	return mirror
}

// allowStatic makes kubelet read static pods from a directory.
func (c *cluster) allowStatic(t *testing.T) {
	t.Helper()
	must(t, os.MkdirAll(staticPods, 0o755))
	c.configureKubelet(t, "staticPodPath: "+staticPods+"\n")
}

func TestAStaticPodHasNoGPUWhateverItsAnnotationsSay(t *testing.T) {
	c := theCluster(t)
	c.allowStatic(t)
	makeGPUs(t)
	c.installRequested(t, "")
	h := c.startHAMi(t, 8)

	c.expectRefused(t, h, c.startStatic(t, podAsking("plain", containerAsking("main", modest, stay))),
		"no scheduler has chosen GPUs for it")
	c.expectRefused(t, h, c.startStatic(t, forged("forged", modest, h.cards[0].ID+",NVIDIA,80000,30:;")),
		"80000 MiB of "+h.cards[0].ID+", where the container asks for 3000")
}

func TestAStaticPodHasWhatItAsksForOfWhatIsFreeWhereThatIsConfigured(t *testing.T) {
	c := theCluster(t)
	c.allowStatic(t)
	makeGPUs(t)
	c.installRequested(t, ", unplaced: fit")

	c.startStatic(t, podAsking("fitting", containerAsking("main", modest, stay)))

	var text string
	eventually(t, func(context.Context) error {
		known := map[string]said{}
		if err := readSaid(known); err != nil {
			return err
		}
		for _, one := range known {
			text = one.text
			return nil
		}
		return errors.New("the static pod reports nothing")
	})
	want := `^CUDA_DEVICE_MEMORY_LIMIT_0=3000m\nCUDA_DEVICE_MEMORY_SHARED_CACHE=` + hookDirectory +
		`/GRANT.cache\nCUDA_DEVICE_SM_LIMIT=30\nCUDA_DEVICE_SM_LIMIT_0=30\nCUDA_TASK_PRIORITY=1\nGPU_CORE_UTILIZATION_POLICY=default\nNVIDIA_VISIBLE_DEVICES=void\nnvidia[0-7]\n` + hookLibrary + `\n`
	if !regexp.MustCompile(want).MatchString(text) {
		t.Errorf("the static pod has\n%s", text)
	}
}

// The pod asks for GPUs like a pod of any scheduler. Its annotations say how much of them it needs.
func TestAPodOfAnotherSchedulerHasWhatItsAnnotationsAskForWhereThatIsConfigured(t *testing.T) {
	c := theCluster(t)
	makeGPUs(t)
	c.installRequested(t, ", unplaced: fit")
	pod := withInit(podAsking("annotated", containerAsking("main", asked{count: 1}, stay)),
		containerAsking("init", asked{count: 2}, ""))
	pod.Spec.SchedulerName = ""
	pod.Annotations = map[string]string{"tessera.dev/gpu-memory": "2Gi", "tessera.dev/gpu-memory-percentage.init": "25",
		"tessera.dev/gpu-cores": "30"}
	made := c.createAsking(t, pod)

	for container, want := range map[string]string{
		"main": "CUDA_DEVICE_MEMORY_LIMIT_0=2048m\n",
		"init": "CUDA_DEVICE_MEMORY_LIMIT_0=20480m\nCUDA_DEVICE_MEMORY_LIMIT_1=20480m\n"} {
		text := waitForSaid(t, made.UID, container, 1)[0]
		if !strings.HasPrefix(text, want+"CUDA_DEVICE_MEMORY_SHARED") || !strings.Contains(text, "SM_LIMIT=30\n") {
			t.Errorf("container %s has\n%s", container, text)
		}
	}
	eventually(t, func(ctx context.Context) error {
		now, err := c.pods().Get(ctx, made.Name, metav1.GetOptions{})
		if err == nil && (now.Annotations[allocated] == "" || now.Annotations[vgpuNode] != nodeName ||
			now.Labels[vgpuNode] != nodeName) {
			err = fmt.Errorf("the pod says of its GPUs: %v, %v", now.Annotations, now.Labels)
		}
		return err
	})
	broken := podAsking("broken", containerAsking("main", asked{count: 1}, stay))
	broken.Spec.SchedulerName = ""
	broken.Annotations = map[string]string{"tessera.dev/gpu-memory": "3000MB"}
	refused := c.createAsking(t, broken)
	eventually(t, func(ctx context.Context) error {
		now, err := c.pods().Get(ctx, refused.Name, metav1.GetOptions{})
		if err == nil && !strings.Contains(describe(now), "annotation tessera.dev/gpu-memory is 3000MB: write how many MiB") {
			err = errors.New(describe(now))
		}
		return err
	})
}
