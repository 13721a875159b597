// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// serving changes the manifests as an operator does to serve other devices. It replaces the
// resources in the ConfigMap, and mounts the directories of the host that the agent needs.
func serving(t *testing.T, resources string, directories ...string) func(manifest) {
	return func(m manifest) {
		t.Helper()
		switch m.object.GetKind() {
		case "ConfigMap":
			setResources(t, m.object, resources)
		case "DaemonSet":
			for _, directory := range directories {
				mountDirectory(t, m.object, directory)
			}
		}
	}
}

func setResources(t *testing.T, configMap *unstructured.Unstructured, resources string) {
	t.Helper()
	text, _, err := unstructured.NestedString(configMap.Object, "data", "tessera.yaml")
	must(t, err)
	kept, _, _ := strings.Cut(text, "resources:")
	must(t, unstructured.SetNestedField(configMap.Object, kept+resources, "data", "tessera.yaml"))
}

func mountDirectory(t *testing.T, daemonSet *unstructured.Unstructured, directory string) {
	t.Helper()
	mountAt(t, daemonSet, directory, directory, v1.HostPathDirectoryOrCreate)
}

// volumeOf names the volume of a directory of the host.
func volumeOf(directory string) string {
	return strings.ReplaceAll(strings.Trim(directory, "/"), "/", "-")
}

// mountAt mounts a path of the host into the DaemonSet's first container.
func mountAt(t *testing.T, daemonSet *unstructured.Unstructured, from, at string, kind v1.HostPathType) {
	t.Helper()
	name := volumeOf(from)
	pod := []string{"spec", "template", "spec"}
	volumes, _, err := unstructured.NestedSlice(daemonSet.Object, append(pod, "volumes")...)
	must(t, err)
	volumes = append(volumes, map[string]any{"name": name,
		"hostPath": map[string]any{"path": from, "type": string(kind)}})
	must(t, unstructured.SetNestedSlice(daemonSet.Object, volumes, append(pod, "volumes")...))

	containers, _, err := unstructured.NestedSlice(daemonSet.Object, append(pod, "containers")...)
	must(t, err)
	agent := containers[0].(map[string]any)
	agent["volumeMounts"] = append(agent["volumeMounts"].([]any),
		map[string]any{"name": name, "mountPath": at})
	must(t, unstructured.SetNestedSlice(daemonSet.Object, containers, append(pod, "containers")...))
}

// telling lets the example's agent report to the API server, with the service account of
// nvidia/rbac.yaml.
func telling(t *testing.T, change func(manifest)) func(manifest) {
	return func(m manifest) {
		t.Helper()
		change(m)
		if m.object.GetKind() != "DaemonSet" {
			return
		}
		pod := []string{"spec", "template", "spec"}
		must(t, unstructured.SetNestedField(m.object.Object, "tessera-nvidia", append(pod, "serviceAccountName")...))
		must(t, unstructured.SetNestedField(m.object.Object, true, append(pod, "automountServiceAccountToken")...))
		containers, _, err := unstructured.NestedSlice(m.object.Object, append(pod, "containers")...)
		must(t, err)
		containers[0].(map[string]any)["env"] = []any{map[string]any{"name": "NODE_NAME", "valueFrom": map[string]any{
			"fieldRef": map[string]any{"fieldPath": "spec.nodeName"}}}}
		must(t, unstructured.SetNestedSlice(m.object.Object, containers, append(pod, "containers")...))
	}
}
