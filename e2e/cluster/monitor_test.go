// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// monitorContainer is the monitor's container as the chart renders it beside the example's agent.
func (c *cluster) monitorContainer(t *testing.T) map[string]any {
	t.Helper()
	rendered, err := exec.Command(filepath.Join(programsDirectory, "helm3"), "template", "tessera",
		filepath.Join(deployDirectory, "chart/tessera"), "--namespace", agentNamespace, "--kube-version", "1.36.3",
		"--values", filepath.Join(deployDirectory, "examples/values.yaml"), "--set", "monitor.enabled=true,monitor.feedback=off",
		"--show-only", "templates/agent.yaml").Output()
	must(t, err)
	for _, m := range c.parseManifests(t, rendered) {
		containers, _, err := unstructured.NestedSlice(m.object.Object, "spec", "template", "spec", "containers")
		must(t, err)
		for _, container := range containers {
			if container := container.(map[string]any); container["name"] == "monitor" {
				return container
			}
		}
	}
	t.Fatal("the chart renders no monitor")
	return nil
}

// addMonitor adds the monitor to the agent's pod, with the host's directories that the agent has. It
// gives no feedback: the tests expect the regions' words as the library leaves them.
func (c *cluster) addMonitor(t *testing.T, directories ...string) func(manifest) {
	return func(m manifest) {
		t.Helper()
		if m.object.GetKind() != "DaemonSet" {
			return
		}
		monitor := c.monitorContainer(t)
		for _, directory := range directories {
			monitor["volumeMounts"] = append(monitor["volumeMounts"].([]any), map[string]any{
				"name": volumeOf(directory), "mountPath": directory})
		}
		fields := []string{"spec", "template", "spec", "containers"}
		containers, _, err := unstructured.NestedSlice(m.object.Object, fields...)
		must(t, err)
		must(t, unstructured.SetNestedSlice(m.object.Object, append(containers, monitor), fields...))
	}
}

// metricsOf scrapes the monitor as Prometheus does. It returns the values of a pod's series by their
// name.
func (c *cluster) metricsOf(ctx context.Context, pod string) (map[string]float64, error) {
	agents, err := c.agentPods(ctx)
	if err != nil {
		return nil, err
	}
	if len(agents) != 1 {
		return nil, fmt.Errorf("there are %d agents", len(agents))
	}
	page, err := read(ctx, "http://"+agents[0].Status.PodIP+":9394/metrics")
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	for line := range strings.Lines(page) {
		name, rest, _ := strings.Cut(line, "{")
		labels, value, found := strings.Cut(rest, "} ")
		if !found || !strings.Contains(labels, fmt.Sprintf(`pod="%s"`, pod)) {
			continue
		}
		if values[name], err = strconv.ParseFloat(strings.TrimSpace(value), 64); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// expectMetrics waits until the monitor says what a pod has of the GPU, and that it uses it.
func (c *cluster) expectMetrics(t *testing.T, pod string, share limitOfDevice) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		got, err := c.metricsOf(ctx, pod)
		if err != nil {
			return err
		}
		bytes, cores := float64(share.Bytes), float64(share.Cores)/100
		for name, want := range map[string]float64{
			"tessera_container_memory_granted_bytes":      bytes,
			"tessera_container_memory_used_bytes":         bytes,
			"tessera_container_over_limit":                0,
			"tessera_container_compute_granted_ratio":     cores,
			"tessera_container_refused_allocations_total": 1,
			"hami_vgpu_memory_limit_bytes":                bytes,
			"hami_vgpu_memory_used_bytes":                 bytes,
			"hami_container_device_memory_bytes":          bytes,
		} {
			if value, there := got[name]; !there || value != want {
				return fmt.Errorf("%s of pod %s is %v (there: %v), not %v", name, pod, value, there, want)
			}
		}
		used, waited := got["tessera_container_compute_used_ratio"], got["tessera_container_waited_seconds_total"]
		if used <= 0 || used > cores+0.05 || waited <= 0 {
			return fmt.Errorf("pod %s used %v of the GPU's time and waited %v s", pod, used, waited)
		}
		return nil
	})
}
