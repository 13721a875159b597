// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"tessera/e2e/nvidia"
)

const validations = "/run/nvidia/validations"

// operated has the shape of the GPU operator's DaemonSet. The image has a shell, which runs a
// script of a ConfigMap once the driver is reported ready. The volume "driver" stands in for
// NVIDIA's runtime.
const operated = `apiVersion: v1
kind: ConfigMap
metadata: {name: nvidia-device-plugin-entrypoint, namespace: kube-system}
data:
  entrypoint.sh: |
    #!/bin/sh
    until [ -f ` + validations + `/driver-ready ]; do echo waiting; sleep 1; done
    set -o allexport
    cat ` + validations + `/driver-ready
    . ` + validations + `/driver-ready
    exec nvidia-device-plugin
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: nvidia-device-plugin-daemonset, namespace: kube-system}
spec:
  selector:
    matchLabels: {app: nvidia-device-plugin-daemonset}
  template:
    metadata:
      labels: {app: nvidia-device-plugin-daemonset, app.kubernetes.io/name: nvidia-device-plugin}
    spec:
      priorityClassName: system-node-critical
      initContainers:
      - name: toolkit-validation
        image: ` + shellImage + `
        command: [sh, -c]
        args: ["until [ -f ` + validations + `/toolkit-ready ]; do echo waiting; sleep 5; done"]
        volumeMounts:
        - {name: validations, mountPath: ` + validations + `}
      containers:
      - name: nvidia-device-plugin
        image: ` + shellImage + `
        command: [/bin/sh, -c]
        args: [/bin/entrypoint.sh]
        env:
        - {name: FAIL_ON_INIT_ERROR, value: "true"}
        - {name: DEVICE_LIST_STRATEGY, value: envvar}
        - {name: DEVICE_ID_STRATEGY, value: uuid}
        - {name: MPS_ROOT, value: /run/nvidia/mps}
        volumeMounts:
        - {name: entrypoint, mountPath: /bin/entrypoint.sh, subPath: entrypoint.sh, readOnly: true}
        - {name: device-plugins, mountPath: /var/lib/kubelet/device-plugins}
        - {name: validations, mountPath: ` + validations + `}
        - {name: driver, mountPath: /usr/lib64, readOnly: true}
      volumes:
      - name: entrypoint
        configMap: {name: nvidia-device-plugin-entrypoint, defaultMode: 0700}
      - name: device-plugins
        hostPath: {path: /var/lib/kubelet/device-plugins, type: Directory}
      - name: validations
        hostPath: {path: ` + validations + `, type: DirectoryOrCreate}
      - name: driver
        hostPath: {path: ` + nvidiaRoot + `/usr/lib64, type: Directory}
`

func TestTheGPUOperatorsDaemonSetServesWithTheImageThatHasAShell(t *testing.T) {
	c := theCluster(t)
	driver := nvidia.InstallAs(t, nvidiaRoot, twoGPUs)
	must(t, os.MkdirAll(validations, 0o755))
	t.Cleanup(func() { must(t, os.RemoveAll(validations)) })
	must(t, os.WriteFile(filepath.Join(validations, "toolkit-ready"), nil, 0o644))
	must(t, os.WriteFile(filepath.Join(validations, "driver-ready"), []byte("DEVICE_ID_STRATEGY=index\n"), 0o644))

	c.install(t, nil, c.parseManifests(t, []byte(operated))...)
	c.waitForResource(t, gpu, "2 of 2")
	c.create(t, withGPUs("both", 2, printGPUs+stay))
	c.waitForPhase(t, "both", v1.PodRunning)

	equal(t, "GPUs of the driver", len(driver.UUIDs()), 2)
	equal(t, "what the pod is told", strings.TrimSpace(c.output(t, "both")), "0,1")
}

// hooked has the shape of the DaemonSet in HAMi's chart. It names the plugin's command, and kubelet
// kills a container whose hook fails.
const hooked = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: hami-device-plugin, namespace: kube-system}
spec:
  selector:
    matchLabels: {app.kubernetes.io/component: hami-device-plugin}
  template:
    metadata:
      labels: {app.kubernetes.io/component: hami-device-plugin, app.kubernetes.io/name: nvidia-device-plugin}
    spec:
      priorityClassName: system-node-critical
      containers:
      - name: device-plugin
        image: ` + shellImage + `
        lifecycle:
          postStart:
            exec:
              command: [/bin/sh, -c, /k8s-vgpu/bin/vgpu-init.sh /usr/local/vgpu/]
        command: [nvidia-device-plugin]
` + pluginVolumes

func TestTheHookOfHAMisChartSucceedsInTheImageThatHasAShell(t *testing.T) {
	c := theCluster(t)
	nvidia.InstallAs(t, nvidiaRoot, twoGPUs)
	c.install(t, nil, c.parseManifests(t, []byte(hooked))...)
	c.waitForResource(t, gpu, "2 of 2")

	equal(t, "restarts", int(c.waitForAgent(t).Status.ContainerStatuses[0].RestartCount), 0)
}
