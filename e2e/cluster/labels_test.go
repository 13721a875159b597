// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"tessera/e2e/nvidia"
)

// labelling makes the agent of deploy/nvidia label the node, as the comments in rbac.yaml and in
// the policy say.
func labelling(t *testing.T) func(manifest) {
	return func(m manifest) {
		setVariable(t, m, "labelsNodes", "true")
		switch m.object.GetKind() {
		case "ClusterRole":
			rules, _, err := unstructured.NestedSlice(m.object.Object, "rules")
			must(t, err)
			rules = append(rules, map[string]any{"apiGroups": []any{""}, "resources": []any{"nodes"},
				"verbs": []any{"patch"}})
			must(t, unstructured.SetNestedSlice(m.object.Object, rules, "rules"))
		case "DaemonSet":
			path := []string{"spec", "template", "spec", "containers"}
			containers, _, err := unstructured.NestedSlice(m.object.Object, path...)
			must(t, err)
			container := containers[0].(map[string]any)
			container["env"] = append(container["env"].([]any),
				map[string]any{"name": "TESSERA_LABELS_OUTPUT", "value": "node"})
			must(t, unstructured.SetNestedSlice(m.object.Object, containers, path...))
		}
	}
}

// waitForNode waits until look returns the wanted value for the node.
func (c *cluster) waitForNode(t *testing.T, what string, look func(*v1.Node) any, want any) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		node, err := c.node(ctx)
		if err != nil {
			return err
		}
		if got := look(node); !reflect.DeepEqual(got, want) {
			return fmt.Errorf("%s: %v, not %v", what, got, want)
		}
		return nil
	})
}

func TestGPUsAreLabelsOfTheirNodeUntilTheUninstall(t *testing.T) {
	c := theCluster(t)
	nvidia.InstallAs(t, "/", twoGPUs)
	c.installPluginWith(t, labelling(t))
	c.waitForResource(t, gpu, "20 of 20")
	someLabels := func(node *v1.Node) any {
		found := map[string]string{}
		for _, name := range []string{"gpu.present", "gpu.count", "gpu.product", "gpu.replicas",
			"gpu.sharing-strategy", "gpu.memory", "gpu.compute.major", "gpu.compute.minor",
			"cuda.driver-version.full", "mig.capable"} {
			if value, has := node.Labels["nvidia.com/"+name]; has {
				found[name] = value
			}
		}
		return found
	}

	c.waitForNode(t, "its labels", someLabels, map[string]string{
		"gpu.present": "true", "gpu.count": "2", "gpu.product": "NVIDIA-L4-SHARED", "gpu.replicas": "10",
		"gpu.sharing-strategy": "time-slicing", "gpu.memory": "23034", "gpu.compute.major": "8",
		"gpu.compute.minor": "9", "cuda.driver-version.full": "570.172.08", "mig.capable": "false",
	})
	c.waitForCondition(t, v1.ConditionFalse, "DevicesHealthy", "no device is unhealthy")

	c.tessera(t, "uninstall", "--force") // the agent of this pod runs
	// The test's node has this label from the administrator, so the uninstall must keep it.
	c.waitForNode(t, "its labels", someLabels, map[string]string{"gpu.present": "true"})
	c.waitForNode(t, "its conditions of ours", func(node *v1.Node) any {
		count := 0
		for _, one := range node.Status.Conditions {
			if one.Type == condition {
				count++
			}
		}
		return count
	}, 0)
}
