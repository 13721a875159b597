// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	authorization "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	kinds "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	agentPolicies = "policies/agents.yaml"
	mountPolicy   = "policies/mounts.yaml"

	policyNode  = "policy-node" // these two nodes have no kubelet
	policyOther = "policy-other"

	anybody       = "anybody"
	hamiScheduler = "system:serviceaccount:kube-system:hami-scheduler"
	hamiAgent     = "system:serviceaccount:kube-system:tessera-hami"
	nvidiaAgent   = "system:serviceaccount:kube-system:tessera-nvidia"
)

// as returns a client that acts as the user. The token of an agent names its node.
func as(t *testing.T, user, node string, groups ...string) *kubernetes.Clientset {
	t.Helper()
	configuration := administrator()
	configuration.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	if node != "" {
		configuration.Impersonate.Extra = map[string][]string{"authentication.kubernetes.io/node-name": {node}}
	}
	client, err := kubernetes.NewForConfig(configuration)
	must(t, err)
	return client
}

// setVariable changes a setting of a policy, as an administrator does.
func setVariable(t *testing.T, m manifest, name, expression string) {
	t.Helper()
	if m.object.GetKind() != "ValidatingAdmissionPolicy" {
		return
	}
	variables, _, err := unstructured.NestedSlice(m.object.Object, "spec", "variables")
	must(t, err)
	for _, one := range variables {
		if variable := one.(map[string]any); variable["name"] == name {
			variable["expression"] = expression
		}
	}
	must(t, unstructured.SetNestedSlice(m.object.Object, variables, "spec", "variables"))
}

// rights returns the manifests of an agent's account: its role, and the policies that bind it to
// its node.
func (c *cluster) rights(t *testing.T, flavour string) []manifest {
	t.Helper()
	return append(c.readManifests(t, agentPolicies), c.readManifests(t, flavour+"/rbac.yaml")...)
}

// installPolicies applies policies of deploy/ on a cluster with two further nodes. The users get
// every right that the policies leave. installPolicies waits until a policy refuses the attempt.
func (c *cluster) installPolicies(t *testing.T, users []string, attempt func(context.Context) error,
	manifests ...manifest) {
	t.Helper()
	ctx := t.Context()
	for _, name := range []string{policyNode, policyOther} {
		_, err := c.client.CoreV1().Nodes().Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.CreateOptions{})
		must(t, err)
		t.Cleanup(func() {
			must(t, c.client.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}))
		})
	}
	binding := &rbac.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "e2e-policies"},
		RoleRef: rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}}
	for _, user := range users {
		binding.Subjects = append(binding.Subjects, rbac.Subject{APIGroup: rbac.GroupName, Kind: "User", Name: user})
	}
	_, err := c.client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		must(t, c.client.RbacV1().ClusterRoleBindings().Delete(context.Background(), binding.Name, metav1.DeleteOptions{}))
		must(t, waitUntil(patient, func(ctx context.Context) error {
			for _, user := range users {
				if allowed, err := c.may(ctx, user, "delete", "nodes", ""); err != nil || allowed {
					return fmt.Errorf("%s may still delete nodes: %v", user, err)
				}
			}
			return nil
		}))
	})
	// The API server enforces a policy with a delay, and for a moment after its deletion. The next
	// test must not meet it.
	t.Cleanup(func() {
		must(t, waitUntil(patient, func(ctx context.Context) error {
			if err := attempt(ctx); strings.Contains(fmt.Sprint(err), "denied request: ") {
				return err
			}
			return nil
		}))
	})
	for _, m := range manifests {
		t.Cleanup(func() { must(t, m.delete(context.Background())) })
		m.apply(t)
	}
	eventually(t, func(ctx context.Context) error {
		if err := attempt(ctx); !strings.Contains(fmt.Sprint(err), "denied request: ") {
			return fmt.Errorf("it is not refused by a policy: %v", err)
		}
		return nil
	})
}

// may returns whether the API server's authorizer gives the user this right.
func (c *cluster) may(ctx context.Context, user, verb, resource, part string) (bool, error) {
	review := &authorization.SubjectAccessReview{Spec: authorization.SubjectAccessReviewSpec{User: user,
		ResourceAttributes: &authorization.ResourceAttributes{Verb: verb, Resource: resource, Subresource: part}}}
	answer, err := c.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return answer.Status.Allowed, nil
}

// refusal returns a policy's reason, or "" if the request was allowed. Another error is marked as
// such.
func refusal(err error) string {
	if err == nil {
		return ""
	}
	if _, why, found := strings.Cut(err.Error(), "denied request: "); found && kinds.IsForbidden(err) {
		return why
	}
	return "not refused by a policy: " + err.Error()
}

func makePod(ctx context.Context, client kubernetes.Interface, name string,
	annotations map[string]string) (*v1.Pod, error) {
	return client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec: v1.PodSpec{NodeName: policyNode,
			Containers: []v1.Container{{Name: "main", Image: "none"}}}}, metav1.CreateOptions{})
}

// podOfPolicyNode creates a pod on policyNode. The test's end removes it.
func (c *cluster) podOfPolicyNode(t *testing.T, client kubernetes.Interface, name string,
	annotations map[string]string) *v1.Pod {
	t.Helper()
	t.Cleanup(func() { must(t, c.removePod(context.Background(), name)) })
	pod, err := makePod(t.Context(), client, name, annotations)
	must(t, err)
	return pod
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

// The API server checks the types in a policy's expressions and writes its warnings into the
// policy's status.
func TestThePoliciesHaveNoExpressionThatTheAPIServerWarnsOf(t *testing.T) {
	c := theCluster(t)
	for _, file := range []string{agentPolicies, mountPolicy, "hami/policy.yaml"} {
		for _, m := range c.readManifests(t, file) {
			if m.object.GetKind() != "ValidatingAdmissionPolicy" {
				continue
			}
			m.object.SetName("e2e-" + m.object.GetName()) // no effect without a binding
			t.Cleanup(func() { must(t, m.delete(context.Background())) })
			m.apply(t)
			eventually(t, func(ctx context.Context) error {
				policy, err := c.client.AdmissionregistrationV1().ValidatingAdmissionPolicies().
					Get(ctx, m.object.GetName(), metav1.GetOptions{})
				if err != nil {
					return err
				}
				if policy.Status.ObservedGeneration != policy.Generation || policy.Status.TypeChecking == nil {
					return errors.New(policy.Name + " was not looked at")
				}
				for _, warning := range policy.Status.TypeChecking.ExpressionWarnings {
					t.Errorf("%s: %s: %s", policy.Name, warning.FieldRef, warning.Warning)
				}
				return nil
			})
		}
	}
}
