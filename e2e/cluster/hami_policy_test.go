// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const (
	allocated  = "hami.io/vgpu-devices-allocated"
	toAllocate = "hami.io/vgpu-devices-to-allocate"
	bindPhase  = "hami.io/bind-phase"
	vgpuNode   = "hami.io/vgpu-node"

	protocolRefusal = ": reserved for HAMi's scheduler and the nodes' agents; leave it out of the pod and request " +
		"devices in resources.limits"
)

// installHAMiPolicy applies the policy of deploy/hami.
func (c *cluster) installHAMiPolicy(t *testing.T) {
	t.Helper()
	user := as(t, anybody, "")
	c.installPolicies(t, []string{hamiScheduler, hamiAgent, anybody}, func(ctx context.Context) error {
		_, err := makePod(ctx, user, "probe", map[string]string{allocated: "x"})
		return errors.Join(err, c.removePod(ctx, "probe"))
	}, c.readManifests(t, "hami/policy.yaml")...)
}

// writePod sets one annotation, through a subresource if one is given.
func writePod(ctx context.Context, client kubernetes.Interface, name, key, value string, way ...string) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
	_, err := client.CoreV1().Pods(metav1.NamespaceDefault).Patch(ctx, name, types.MergePatchType,
		[]byte(patch), metav1.PatchOptions{}, way...)
	return err
}

func TestNobodyButHAMisSchedulerAndTheAgentWritesTheirProtocol(t *testing.T) {
	c := theCluster(t)
	c.installHAMiPolicy(t)
	ctx, user, scheduler := t.Context(), as(t, anybody, ""), as(t, hamiScheduler, "")

	for _, key := range []string{allocated, toAllocate, bindPhase, vgpuNode, "hami.io/vgpu-time",
		"hami.io/bind-time", "hami.io/vgpu-mig-allocations", "hami.io/dcu-devices-to-allocate"} {
		_, err := makePod(ctx, user, "forged", map[string]string{key: "x"})
		equal(t, "a pod that is made with "+key, refusal(err), key+protocolRefusal)
	}
	c.podOfPolicyNode(t, user, "honest", map[string]string{"hami.io/gpu-scheduler-policy": "binpack"})
	must(t, writePod(ctx, scheduler, "honest", allocated, "GPU-a,NVIDIA,1,1:;"))
	must(t, writePod(ctx, as(t, hamiAgent, policyNode), "honest", bindPhase, "success"))
	must(t, writePod(ctx, user, "honest", "example.com/mine", "x"))
	equal(t, "a change", refusal(writePod(ctx, user, "honest", allocated, "x")), allocated+protocolRefusal)
	equal(t, "a change by the status", refusal(writePod(ctx, user, "honest", allocated, "x", "status")),
		allocated+protocolRefusal)
	binding := &v1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "honest", Annotations: map[string]string{allocated: "x"}},
		Target: v1.ObjectReference{Kind: "Node", Name: policyNode}}
	equal(t, "a change by the binding",
		refusal(user.CoreV1().Pods(metav1.NamespaceDefault).Bind(ctx, binding, metav1.CreateOptions{})),
		allocated+protocolRefusal)
}

func TestNobodyButKubeletMakesAPodThatStandsForAStaticOne(t *testing.T) {
	c := theCluster(t)
	c.installHAMiPolicy(t)
	mirror := map[string]string{v1.MirrorPodAnnotationKey: "0123456789abcdef0123456789abcdef"}
	const refused = v1.MirrorPodAnnotationKey + ": only kubelet makes mirror pods; leave it out of the pod"

	_, err := makePod(t.Context(), as(t, anybody, ""), "mirror", mirror)
	equal(t, "a mirror pod", refusal(err), refused)
	_, err = makePod(t.Context(), as(t, hamiAgent, policyNode), "mirror", mirror)
	equal(t, "an agent's mirror pod", refusal(err), refused)
	c.podOfPolicyNode(t, as(t, anybody, "", "system:nodes"), "mirror", mirror)
}
