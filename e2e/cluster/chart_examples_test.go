// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	node "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"tessera/e2e/nvidia"
)

// installRelease installs the chart as it is with a values file. The test's end removes it.
func (c *cluster) installRelease(t *testing.T, values string) {
	t.Helper()
	c.removeReleaseAtEnd(t, "tessera")
	helm(t, "install", "tessera", filepath.Join(deployDirectory, "chart/tessera"), "--values", values,
		"--wait", "--timeout", "3m")
}

// installValues does the same with the text of a values file.
func (c *cluster) installValues(t *testing.T, values string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	must(t, os.WriteFile(file, []byte(values), 0o600))
	c.installRelease(t, file)
}

func TestTheTutorialsPodRunsOnAReleaseOfTheChart(t *testing.T) {
	c := theCluster(t)
	c.installRelease(t, filepath.Join(deployDirectory, "examples/values.yaml"))
	c.waitForDevices(t, "64 of 64")

	for _, m := range c.readManifests(t, "examples/pod.yaml") {
		m.apply(t)
	}

	c.waitForPhase(t, "two-npus", v1.PodSucceeded)
	equal(t, "what the pod prints", c.output(t, "two-npus"), "DUMMY_VISIBLE_DEVICES=0,1\n")
}

// installRuntimeOfNVIDIA adds a runtime class "nvidia", whose containers get the driver's library and
// the MPS programs at their usual places. Until the test's end.
func (c *cluster) installRuntimeOfNVIDIA(t *testing.T) {
	t.Helper()
	content, err := os.ReadFile("/e2e/container.json")
	must(t, err)
	var specification map[string]any
	must(t, json.Unmarshal(content, &specification))
	bind := func(from, to string) any {
		return map[string]any{"destination": to, "source": from, "type": "bind", "options": []string{"rbind", "ro"}}
	}
	mounts := append(specification["mounts"].([]any), bind(nvidiaRoot+"/usr/lib64", "/usr/lib64"))
	for _, name := range namesOfMPS {
		mounts = append(mounts, bind(filepath.Join(mpsPrograms, name), "/usr/bin/"+name))
	}
	specification["mounts"] = mounts
	content, err = json.Marshal(specification)
	must(t, err)
	must(t, os.WriteFile("/e2e/nvidia.json", content, 0o644))
	c.configureContainerd(t, func(before string) string {
		return before + `
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia]
  runtime_type = "io.containerd.runc.v2"
  base_runtime_spec = "/e2e/nvidia.json"
`
	})
	classes := c.client.NodeV1().RuntimeClasses()
	_, err = classes.Create(t.Context(), &node.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "nvidia"}, Handler: "nvidia"},
		metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() { must(t, classes.Delete(context.Background(), "nvidia", metav1.DeleteOptions{})) })
}

func TestAnMPSPodRunsOnAReleaseOfTheChart(t *testing.T) {
	c := theCluster(t)
	nvidia.InstallAs(t, nvidiaRoot, twoGPUs)
	installMPS(t)
	c.installRuntimeOfNVIDIA(t)
	c.labelNode(t, "nvidia.com/mps.capable", "true")
	values := []string{"runtimeClassName: nvidia", "config:", "  map:", "    default: |-"}
	for line := range strings.Lines(sharedByMPS) {
		values = append(values, "      "+strings.TrimRight(line, "\n"))
	}
	c.installValues(t, strings.Join(values, "\n")+"\n")
	c.waitForResource(t, gpu, "4 of 4")

	c.create(t, clientOfMPS("client"))

	c.waitForPhase(t, "client", v1.PodRunning)
	c.waitForAnswers(t, "client", 2)
}
