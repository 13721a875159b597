// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"tessera/e2e/nvidia"
)

// pluginVolumes ends a DaemonSet of one container. It has the directory of kubelet's sockets, and
// the driver in the place of NVIDIA's runtime.
const pluginVolumes = `        volumeMounts:
        - {name: device-plugins, mountPath: /var/lib/kubelet/device-plugins}
        - {name: driver, mountPath: /usr/lib64, readOnly: true}
      volumes:
      - name: device-plugins
        hostPath: {path: /var/lib/kubelet/device-plugins, type: Directory}
      - name: driver
        hostPath: {path: ` + nvidiaRoot + `/usr/lib64, type: Directory}
`

// swapped has the shape of the DaemonSets of NVIDIA's device plugin with only the image replaced.
// It sets neither command nor user, and drops all capabilities. Of the host it mounts only the
// directory of plugin sockets. The volume "driver" is no part of that shape: it stands in for
// NVIDIA's runtime, which adds the driver's library.
const swapped = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: nvidia-device-plugin-daemonset, namespace: kube-system}
spec:
  selector:
    matchLabels: {app.kubernetes.io/name: nvidia-device-plugin}
  template:
    metadata:
      labels: {app.kubernetes.io/name: nvidia-device-plugin}
    spec:
      priorityClassName: system-node-critical
      containers:
      - name: nvidia-device-plugin-ctr
        image: ` + pluginImage + `
        env:
        - {name: FAIL_ON_INIT_ERROR, value: "false"}
        securityContext:
          allowPrivilegeEscalation: false
          capabilities: {drop: [ALL]}
` + pluginVolumes

// warnings returns the reasons of warnings and errors in the agent's log, in their order. A line
// without a reason is returned whole.
func (c *cluster) warnings(t *testing.T) (found []string) {
	t.Helper()
	content, err := c.client.CoreV1().Pods(agentNamespace).
		GetLogs(c.waitForAgent(t).Name, &v1.PodLogOptions{}).DoRaw(t.Context())
	must(t, err)
	for line := range strings.Lines(string(content)) {
		if !strings.Contains(line, " WARN ") && !strings.Contains(line, " ERROR ") {
			continue
		}
		if reason := regexp.MustCompile(`(?:reason=|\[)([a-z-]+)`).FindStringSubmatch(line); reason != nil {
			line = reason[1]
		}
		found = append(found, line)
	}
	return found
}

// expectWarnings checks that the agent's log has exactly these warnings, in this order. It ignores
// timed-out checks, which are normal on a busy machine.
func (c *cluster) expectWarnings(t *testing.T, want ...string) {
	t.Helper()
	found := slices.DeleteFunc(c.warnings(t), func(reason string) bool { return reason == "check-timed-out" })
	equal(t, "what the log warns of", found, want)
}

// waitForHeld waits until the agent reports this many held GPUs.
func (c *cluster) waitForHeld(t *testing.T, want string) {
	t.Helper()
	eventually(t, func(context.Context) error {
		said := c.tessera(t, "devices")
		row := regexp.MustCompile(`(?m)^nvidia\.com/gpu +whole +\d+ +\d+ +(\d+) +streaming$`).FindStringSubmatch(said)
		if row == nil || row[1] != want {
			return fmt.Errorf("not %s GPUs are held: %s", want, said)
		}
		return nil
	})
}

func TestADaemonSetOfNVIDIAsServesWithNothingButAnotherImage(t *testing.T) {
	c := theCluster(t)
	c.forgetDevices(t) // this agent learns of holdings only from the checkpoint
	driver := nvidia.InstallAs(t, nvidiaRoot, twoGPUs)
	c.install(t, nil, c.parseManifests(t, []byte(swapped))...)
	c.waitForResource(t, gpu, "2 of 2")
	equal(t, "processes that NVIDIA's config-manager would signal", len(processesNamed(t, "nvidia-device-plugin")), 1)

	told := map[string]bool{}
	for _, name := range []string{"one", "two"} {
		c.create(t, withGPUs(name, 1, printGPUs+stay))
		c.waitForPhase(t, name, v1.PodRunning)
		told[strings.TrimSpace(c.output(t, name))] = true
	}

	equal(t, "what the pods are told", told, map[string]bool{driver.UUID(0): true, driver.UUID(1): true})
	c.waitForHeld(t, "2")
	c.expectWarnings(t, "config-open", "state-not-kept", "pod-resources-unavailable")
}
