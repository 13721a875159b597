// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	kinds "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
)

// manifest is one object of a file in deploy/, with the client for its kind.
type manifest struct {
	object *unstructured.Unstructured
	client dynamic.ResourceInterface
}

// readManifests reads the objects of a file in deploy/, unchanged.
func (c *cluster) readManifests(t *testing.T, name string) []manifest {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(deployDirectory, name))
	must(t, err)
	return c.parseManifests(t, content)
}

func (c *cluster) parseManifests(t *testing.T, content []byte) []manifest {
	t.Helper()
	client, err := dynamic.NewForConfig(administrator())
	must(t, err)
	groups, err := restmapper.GetAPIGroupResources(c.client.Discovery())
	must(t, err)
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	var found []manifest
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return found
		} else {
			must(t, err)
		}
		if len(object.Object) == 0 { // a comment alone
			continue
		}
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		must(t, err)
		objects := client.Resource(mapping.Resource)
		switch namespace := object.GetNamespace(); {
		case mapping.Scope.Name() == meta.RESTScopeNameRoot:
			found = append(found, manifest{object, objects})
		case namespace == "":
			found = append(found, manifest{object, objects.Namespace(metav1.NamespaceDefault)})
		default:
			found = append(found, manifest{object, objects.Namespace(namespace)})
		}
	}
}

// apply applies the object like "kubectl apply --server-side". The caller deletes it.
func (m manifest) apply(t *testing.T) {
	t.Helper()
	_, err := m.client.Apply(t.Context(), m.object.GetName(), m.object,
		metav1.ApplyOptions{FieldManager: "e2e", Force: true})
	must(t, err)
}

// delete waits until the object and its dependents are gone.
func (m manifest) delete(ctx context.Context) error {
	foreground := metav1.DeletePropagationForeground
	err := m.client.Delete(ctx, m.object.GetName(), metav1.DeleteOptions{PropagationPolicy: &foreground})
	if err != nil && !kinds.IsNotFound(err) {
		return err
	}
	return waitUntil(patient, func(ctx context.Context) error {
		_, err := m.client.Get(ctx, m.object.GetName(), metav1.GetOptions{})
		if kinds.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New(m.object.GetName()+" is still there"), err)
	})
}
