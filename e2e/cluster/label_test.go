// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	"tessera/e2e/nvidia"
)

// labelled has the shape of the DaemonSet in NVIDIA's chart for several configurations. Its
// config-manager reads the node's label once before the plugin starts, then follows it in a
// sidecar. All three containers run the image that replaces NVIDIA's.
const labelled = `apiVersion: v1
kind: ServiceAccount
metadata: {name: nvidia-device-plugin, namespace: kube-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: nvidia-device-plugin}
rules:
- {apiGroups: [""], resources: [nodes], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: nvidia-device-plugin}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: nvidia-device-plugin}
subjects:
- {kind: ServiceAccount, name: nvidia-device-plugin, namespace: kube-system}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: nvidia-device-plugin, namespace: kube-system}
data:
  default: |
    version: v1
  shared: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
---
apiVersion: apps/v1
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
      serviceAccountName: nvidia-device-plugin
      shareProcessNamespace: true
      initContainers:
      - name: nvidia-device-plugin-init
        image: ` + pluginImage + `
        command: [config-manager]
        env:
        - &oneshot {name: ONESHOT, value: "true"}
        - &kubeconfig {name: KUBECONFIG, value: ""}
        - &node {name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        - &label {name: NODE_LABEL, value: nvidia.com/device-plugin.config}
        - &from {name: CONFIG_FILE_SRCDIR, value: /available-configs}
        - &to {name: CONFIG_FILE_DST, value: /config/config.yaml}
        - &default {name: DEFAULT_CONFIG, value: ""}
        - &fallback {name: FALLBACK_STRATEGIES, value: "named,single"}
        - {name: SEND_SIGNAL, value: "false"}
        - {name: SIGNAL, value: ""}
        - {name: PROCESS_TO_SIGNAL, value: ""}
        volumeMounts: &mounts
        - {name: available-configs, mountPath: /available-configs}
        - {name: config, mountPath: /config}
      containers:
      - name: nvidia-device-plugin-sidecar
        image: ` + pluginImage + `
        command: [config-manager]
        env:
        - {name: ONESHOT, value: "false"}
        - *kubeconfig
        - *node
        - *label
        - *from
        - *to
        - *default
        - *fallback
        - {name: SEND_SIGNAL, value: "true"}
        - {name: SIGNAL, value: "1"}
        - {name: PROCESS_TO_SIGNAL, value: nvidia-device-plugin}
        volumeMounts: *mounts
      - name: nvidia-device-plugin-ctr
        image: ` + pluginImage + `
        env:
        - {name: CONFIG_FILE, value: /config/config.yaml}
        volumeMounts:
        - {name: device-plugins, mountPath: /var/lib/kubelet/device-plugins}
        - {name: pod-resources, mountPath: /var/lib/kubelet/pod-resources, readOnly: true}
        - {name: driver, mountPath: /usr/lib64, readOnly: true}
        - {name: available-configs, mountPath: /available-configs}
        - {name: config, mountPath: /config}
      volumes:
      - name: device-plugins
        hostPath: {path: /var/lib/kubelet/device-plugins, type: Directory}
      - name: pod-resources
        hostPath: {path: /var/lib/kubelet/pod-resources, type: Directory}
      - name: driver
        hostPath: {path: ` + nvidiaRoot + `/usr/lib64, type: Directory}
      - name: available-configs
        configMap: {name: nvidia-device-plugin}
      - name: config
        emptyDir: {}
`

// chooseConfiguration sets the node's label. The test's end removes it.
func (c *cluster) chooseConfiguration(t *testing.T, name string) {
	t.Helper()
	c.labelNode(t, "nvidia.com/device-plugin.config", name)
}

func TestANodesLabelChoosesItsConfigurationByNVIDIAsConfigManager(t *testing.T) {
	c := theCluster(t)
	nvidia.InstallAs(t, nvidiaRoot, twoGPUs)
	c.install(t, nil, c.parseManifests(t, []byte(labelled))...)
	c.waitForResource(t, gpu, "2 of 2")

	c.chooseConfiguration(t, "shared")
	c.waitForResource(t, gpu, "8 of 8")

	// No such configuration exists: the agent keeps the former one.
	c.chooseConfiguration(t, "absent")
	c.create(t, withGPUs("holder", 1, printGPUs))
	c.waitForPhase(t, "holder", "Succeeded")
	c.waitForResource(t, gpu, "8 of 8")

	c.chooseConfiguration(t, "default")
	c.waitForResource(t, gpu, "2 of 2")
}
