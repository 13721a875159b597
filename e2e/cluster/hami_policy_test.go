// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	kinds "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	hamiNode      = "hami-node" // no kubelet is of these two
	hamiOther     = "hami-other"
	hamiScheduler = "system:serviceaccount:kube-system:hami-scheduler"
	hamiAgent     = "system:serviceaccount:kube-system:tessera-hami"
	anybody       = "anybody"
	allocated     = "hami.io/vgpu-devices-allocated"
	toAllocate    = "hami.io/vgpu-devices-to-allocate"
	bindPhase     = "hami.io/bind-phase"
)

// as is a client of that user; of an agent, with a token that names its node.
func as(t *testing.T, user, node string) *kubernetes.Clientset {
	t.Helper()
	configuration := administrator()
	configuration.Impersonate = rest.ImpersonationConfig{UserName: user}
	if node != "" {
		configuration.Impersonate.Extra = map[string][]string{"authentication.kubernetes.io/node-name": {node}}
	}
	client, err := kubernetes.NewForConfig(configuration)
	must(t, err)
	return client
}

// installHAMiPolicy applies the policies and rights of deploy/hami, and lets the scheduler and anybody do
// with pods whatever those allow.
func (c *cluster) installHAMiPolicy(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	for _, name := range []string{hamiNode, hamiOther} {
		_, err := c.client.CoreV1().Nodes().Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.CreateOptions{})
		must(t, err)
		t.Cleanup(func() {
			must(t, c.client.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}))
		})
	}
	binding := &rbac.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "e2e-hami"},
		RoleRef: rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbac.Subject{{APIGroup: rbac.GroupName, Kind: "User", Name: hamiScheduler},
			{APIGroup: rbac.GroupName, Kind: "User", Name: anybody}}}
	_, err := c.client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		must(t, c.client.RbacV1().ClusterRoleBindings().Delete(context.Background(), "e2e-hami", metav1.DeleteOptions{}))
	})
	for _, m := range append(c.readManifests(t, "hami/rbac.yaml"), c.readManifests(t, "hami/policy.yaml")...) {
		t.Cleanup(func() { must(t, m.delete(context.Background())) })
		m.apply(t)
	}
	// The API server heeds policies a moment after it has taken them.
	eventually(t, func(ctx context.Context) error {
		_, err := makePod(ctx, as(t, anybody, ""), "probe", map[string]string{allocated: "x"})
		return errors.Join(notForbidden(err), c.removePod(ctx, "probe"))
	})
	eventually(t, func(ctx context.Context) error {
		return notForbidden(writeNode(ctx, as(t, hamiAgent, hamiOther), hamiNode))
	})
}

// notForbidden is the error that this is not forbidden.
func notForbidden(err error) error {
	if kinds.IsForbidden(err) {
		return nil
	}
	return fmt.Errorf("it is not forbidden: %v", err)
}

func makePod(ctx context.Context, client *kubernetes.Clientset, name string,
	annotations map[string]string) (*v1.Pod, error) {
	return client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec: v1.PodSpec{NodeName: hamiNode,
			Containers: []v1.Container{{Name: "main", Image: "none"}}}}, metav1.CreateOptions{})
}

func (c *cluster) removePod(ctx context.Context, name string) error {
	now := int64(0)
	err := c.client.CoreV1().Pods(metav1.NamespaceDefault).Delete(ctx, name,
		metav1.DeleteOptions{GracePeriodSeconds: &now})
	if kinds.IsNotFound(err) {
		return nil
	}
	return err
}

// writePod changes one annotation, by way of a subresource where one is named.
func writePod(ctx context.Context, client *kubernetes.Clientset, name, key, value string, way ...string) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
	_, err := client.CoreV1().Pods(metav1.NamespaceDefault).Patch(ctx, name, types.MergePatchType,
		[]byte(patch), metav1.PatchOptions{}, way...)
	return err
}

func writeNode(ctx context.Context, client *kubernetes.Clientset, name string) error {
	const patch = `{"metadata":{"annotations":{"hami.io/node-nvidia-register":"[]","hami.io/mutex.lock":null}}}`
	_, err := client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func mustBeForbidden(t *testing.T, what string, err error) {
	t.Helper()
	if err := notForbidden(err); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

func TestNobodyButHAMisSchedulerAndTheAgentWritesTheirProtocol(t *testing.T) {
	c := theCluster(t)
	c.installHAMiPolicy(t)
	ctx, user, scheduler := t.Context(), as(t, anybody, ""), as(t, hamiScheduler, "")

	for _, key := range []string{allocated, toAllocate, bindPhase, "hami.io/vgpu-node", "hami.io/vgpu-time",
		"hami.io/bind-time", "hami.io/vgpu-mig-allocations", "hami.io/dcu-devices-to-allocate"} {
		_, err := makePod(ctx, user, "forged", map[string]string{key: "x"})
		mustBeForbidden(t, "a pod that is made with "+key, err)
	}
	t.Cleanup(func() { must(t, c.removePod(context.Background(), "honest")) })
	_, err := makePod(ctx, user, "honest", map[string]string{"hami.io/gpu-scheduler-policy": "binpack"})
	must(t, err)
	must(t, writePod(ctx, scheduler, "honest", allocated, "GPU-a,NVIDIA,1,1:;"))
	must(t, writePod(ctx, user, "honest", "example.com/mine", "x"))
	mustBeForbidden(t, "a change", writePod(ctx, user, "honest", allocated, "x"))
	mustBeForbidden(t, "a change by the status", writePod(ctx, user, "honest", allocated, "x", "status"))
	binding := &v1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "honest", Annotations: map[string]string{allocated: "x"}},
		Target: v1.ObjectReference{Kind: "Node", Name: hamiNode}}
	mustBeForbidden(t, "a change by the binding",
		user.CoreV1().Pods(metav1.NamespaceDefault).Bind(ctx, binding, metav1.CreateOptions{}))
}

func TestNobodyButKubeletMakesAPodThatStandsForAStaticOne(t *testing.T) {
	c := theCluster(t)
	c.installHAMiPolicy(t)
	ctx := t.Context()
	mirror := map[string]string{v1.MirrorPodAnnotationKey: "0123456789abcdef0123456789abcdef"}

	_, err := makePod(ctx, as(t, anybody, ""), "mirror", mirror)
	mustBeForbidden(t, "a mirror pod", err)
	_, err = makePod(ctx, as(t, hamiAgent, hamiNode), "mirror", mirror)
	mustBeForbidden(t, "an agent's mirror pod", err)
	t.Cleanup(func() { must(t, c.removePod(context.Background(), "mirror")) })
	kubelet := administrator()
	kubelet.Impersonate = rest.ImpersonationConfig{UserName: anybody, Groups: []string{"system:nodes"}}
	client, err := kubernetes.NewForConfig(kubelet)
	must(t, err)
	_, err = makePod(ctx, client, "mirror", mirror)
	must(t, err)
}

func TestAnAgentWritesAboutItsOwnNodeAlone(t *testing.T) {
	c := theCluster(t)
	c.installHAMiPolicy(t)
	ctx, agent := t.Context(), as(t, hamiAgent, hamiNode)
	other, unbound := as(t, hamiAgent, hamiOther), as(t, hamiAgent, "")
	t.Cleanup(func() { must(t, c.removePod(context.Background(), "pod")) })
	_, err := makePod(ctx, as(t, hamiScheduler, ""), "pod", map[string]string{allocated: "x", toAllocate: "x"})
	must(t, err)

	must(t, writePod(ctx, agent, "pod", toAllocate, ";"))
	must(t, writePod(ctx, agent, "pod", bindPhase, "success"))
	must(t, writeNode(ctx, agent, hamiNode))
	mustBeForbidden(t, "what the scheduler wrote", writePod(ctx, agent, "pod", allocated, "y"))
	mustBeForbidden(t, "a pod of another node", writePod(ctx, other, "pod", bindPhase, "failed"))
	mustBeForbidden(t, "another node", writeNode(ctx, other, hamiNode))
	mustBeForbidden(t, "a token without a node", writeNode(ctx, unbound, hamiNode))
	_, err = agent.CoreV1().Nodes().Patch(ctx, hamiNode, types.MergePatchType,
		[]byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
	mustBeForbidden(t, "more than annotations", err)
	_, err = makePod(ctx, agent, "more", nil)
	mustBeForbidden(t, "a pod of its own", err)
}
