// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"testing"

	apps "k8s.io/api/apps/v1"
	networking "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// typed converts the manifest to the Go type of its kind.
func typed[T any](t *testing.T, m manifest) *T {
	t.Helper()
	object := new(T)
	must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(m.object.Object, object))
	return object
}

// The cluster's network plugin enforces the policy. This test checks only that the policy selects
// the status port of each agent.
func TestTheNetworkPolicyIsOfTheStatusPortOfEachAgent(t *testing.T) {
	c := theCluster(t)
	policies := c.readManifests(t, "network-policy.yaml")
	if len(policies) != 1 {
		t.Fatalf("there are %d policies", len(policies))
	}
	policies[0].apply(t)
	t.Cleanup(func() { must(t, policies[0].delete(context.Background())) })
	policy := typed[networking.NetworkPolicy](t, policies[0])
	selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
	must(t, err)
	for _, name := range []string{"examples", "nvidia", "hami"} {
		for _, m := range c.readManifests(t, name+"/daemonset.yaml") {
			if m.object.GetKind() != "DaemonSet" {
				continue
			}
			set := typed[apps.DaemonSet](t, m)
			port := set.Spec.Template.Spec.Containers[0].Ports[0].ContainerPort
			if set.Namespace != policy.Namespace || port != policy.Spec.Ingress[0].Ports[0].Port.IntVal ||
				!selector.Matches(labels.Set(set.Spec.Template.Labels)) {
				t.Errorf("the policy is not of port %d of %s", port, set.Name)
			}
		}
	}
}
