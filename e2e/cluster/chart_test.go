// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What the chart renders for these test values is in deploy/chart/tests/golden, by tools/check-chart.
const goldenFiles = "chart/tests/golden/*.yaml"

// kindsOfOthers are those of Prometheus Operator and of OpenShift that the chart has objects of.
var kindsOfOthers = []struct{ group, version, kind, scope string }{
	{"monitoring.coreos.com", "v1", "PodMonitor", "Namespaced"},
	{"monitoring.coreos.com", "v1", "ServiceMonitor", "Namespaced"},
	{"monitoring.coreos.com", "v1", "PrometheusRule", "Namespaced"},
	{"security.openshift.io", "v1", "SecurityContextConstraints", "Cluster"},
}

// installKindsOfOthers makes the API server serve them, with any content.
func (c *cluster) installKindsOfOthers(t *testing.T) {
	t.Helper()
	for _, one := range kindsOfOthers {
		plural := strings.TrimSuffix(strings.ToLower(one.kind), "s") + "s"
		definition := c.parseManifests(t, fmt.Appendf(nil, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %s.%s}
spec:
  group: %s
  scope: %s
  names: {kind: %s, plural: %s}
  versions:
  - name: %s
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, plural, one.group, one.group, one.scope, one.kind, plural, one.version))[0]
		definition.apply(t)
		t.Cleanup(func() { must(t, definition.delete(context.Background())) })
		eventually(t, func(context.Context) error {
			served, err := c.client.Discovery().ServerResourcesForGroupVersion(one.group + "/" + one.version)
			if err != nil {
				return err
			}
			for _, resource := range served.APIResources {
				if resource.Name == plural {
					return nil
				}
			}
			return errors.New(plural + " are not served")
		})
	}
}

// It is what "kubectl apply --server-side --dry-run=server" does with each rendering.
func TestTheAPIServerTakesWhatTheChartRenders(t *testing.T) {
	c := theCluster(t)
	c.installKindsOfOthers(t)
	namespaces := c.client.CoreV1().Namespaces()
	_, err := namespaces.Create(t.Context(), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "gpus"}},
		metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() { must(t, namespaces.Delete(context.Background(), "gpus", metav1.DeleteOptions{})) })
	files, err := filepath.Glob(filepath.Join(deployDirectory, goldenFiles))
	must(t, err)
	if len(files) == 0 {
		t.Fatal("there is no rendering")
	}
	for _, file := range files {
		name, err := filepath.Rel(deployDirectory, file)
		must(t, err)
		for _, m := range c.readManifests(t, name) {
			_, err := m.client.Apply(t.Context(), m.object.GetName(), m.object, metav1.ApplyOptions{
				FieldManager: "e2e", Force: true, DryRun: []string{metav1.DryRunAll}})
			if err != nil {
				t.Errorf("%s: %s %s: %v", filepath.Base(name), m.object.GetKind(), m.object.GetName(), err)
			}
		}
	}
}
