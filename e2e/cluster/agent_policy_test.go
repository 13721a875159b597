// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const (
	aboutOthers = "the agent of node " + policyOther + " may write only to that node and its pods"
	namesNoNode = "the agent's token names no node: use a token that kubelet requested (Kubernetes 1.30 and later)"
	notOfNodes  = "an agent may not change these fields of its node: "
	notOfPods   = "an agent may not change these fields of pods: "
)

// installAgentPolicies applies the agents' policies of deploy/. Settings are pairs: a variable of
// the policies, and the expression that replaces its own.
func (c *cluster) installAgentPolicies(t *testing.T, settings ...string) {
	t.Helper()
	policies := c.readManifests(t, agentPolicies)
	for _, m := range policies {
		for n := 0; n < len(settings); n += 2 {
			setVariable(t, m, settings[n], settings[n+1])
		}
	}
	agent := as(t, hamiAgent, policyOther)
	c.installPolicies(t, []string{hamiAgent, nvidiaAgent}, func(ctx context.Context) error {
		if err := makeEvent(ctx, agent, eventOf("Node", policyNode, policyOther)); refusal(err) == "" {
			return nil
		}
		return patchNode(ctx, agent, `{"metadata":{"annotations":{"x":"y"}}}`)
	}, policies...)
}

func patchNode(ctx context.Context, client kubernetes.Interface, patch string, way ...string) error {
	_, err := client.CoreV1().Nodes().Patch(ctx, policyNode, types.StrategicMergePatchType, []byte(patch),
		metav1.PatchOptions{}, way...)
	return err
}

// attempt is a patch of a node or pod, and the refusal that a policy must give; "" if it must allow
// the patch.
type attempt struct{ patch, refused string }

func statusOf(member string) string { return `{"status":{` + member + `}}` }

func conditionOf(kind string) string {
	return statusOf(`"conditions":[{"type":"` + kind + `","status":"True"}]`)
}

func annotating(key, value string) string {
	return fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, key, value)
}

func labelled1(key, value string) string {
	return fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, key, value)
}

func expectOfNode(t *testing.T, client kubernetes.Interface, attempts []attempt, way ...string) {
	t.Helper()
	for _, one := range attempts {
		equal(t, fmt.Sprint(one.patch, way), refusal(patchNode(t.Context(), client, one.patch, way...)), one.refused)
	}
}

func TestAnAgentWritesOfItsNodeWhatItIsForAndNothingElse(t *testing.T) {
	c := theCluster(t)
	c.installAgentPolicies(t)
	hami, nvidia := as(t, hamiAgent, policyNode), as(t, nvidiaAgent, policyNode)
	must(t, patchNode(t.Context(), c.client, annotating("hami.io/mutex.lock", `"a"`)))
	must(t, patchNode(t.Context(), c.client, conditionOf("Ready"), "status"))
	never := []attempt{
		{annotating("example.com/x", `"y"`), notOfNodes + "annotation example.com/x"},
		{annotating("tessera.dev/owned-labels", `"y"`), notOfNodes + "annotation tessera.dev/owned-labels"},
		{labelled1("nvidia.com/gpu.count", `"8"`), notOfNodes + "label nvidia.com/gpu.count"},
		{labelled1("node-role.kubernetes.io/control-plane", `""`),
			notOfNodes + "label node-role.kubernetes.io/control-plane"},
		{`{"metadata":{"finalizers":["example.com/x"]}}`, notOfNodes + "metadata.finalizers"},
		{`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"x","uid":"y"}]}}`,
			notOfNodes + "metadata.ownerReferences"},
	}
	ofStatus := append([]attempt{
		{conditionOf("DevicesUnhealthy"), ""},
		{`{"status":{"conditions":[{"type":"DevicesUnhealthy","$patch":"delete"}]}}`, ""},
		{conditionOf("Ready"), ""}, // the value that it has already
		{`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`, notOfNodes + "conditions of others"},
		{`{"status":{"conditions":[{"type":"Ready","$patch":"delete"}]}}`, notOfNodes + "conditions of others"},
		{statusOf(`"addresses":[{"type":"InternalIP","address":"10.9.8.7"}]`), notOfNodes + "status.addresses"},
		{statusOf(`"daemonEndpoints":{"kubeletEndpoint":{"Port":1}}`), notOfNodes + "status.daemonEndpoints"},
		{statusOf(`"allocatable":{"nvidia.com/gpu":"8"}`), notOfNodes + "status.allocatable"},
	}, never...)
	ofNode := append([]attempt{
		{`{"spec":{"unschedulable":true}}`, notOfNodes + "spec"},
		{`{"spec":{"taints":[{"key":"x","effect":"NoSchedule"}]}}`, notOfNodes + "spec"},
	}, never...)

	expectOfNode(t, nvidia, append(ofNode, attempt{annotating("hami.io/node-nvidia-register", `"[]"`),
		notOfNodes + "annotation hami.io/node-nvidia-register"}))
	expectOfNode(t, nvidia, ofStatus, "status")
	expectOfNode(t, hami, append(ofNode,
		attempt{annotating("hami.io/mutex.lock", `"b"`), notOfNodes + "annotation hami.io/mutex.lock"},
		attempt{annotating("hami.io/mutex.lock", `null`), ""},
		attempt{annotating("hami.io/node-nvidia-register", `"[]"`), ""},
		attempt{annotating("hami.io/node-nvidia-score", `"[]"`), ""},
		attempt{annotating("hami.io/node-handshake", `"Reported x"`), ""},
		attempt{annotating("tessera.dev/agent", `"0.1.0 late-bound"`), ""},
		attempt{annotating("hami.io/node-nvidia-register", `null`), ""}))
	expectOfNode(t, hami, ofStatus, "status")
	for _, agent := range []string{hamiAgent, nvidiaAgent} {
		for _, way := range [][]string{{}, {"status"}} {
			expectOfNode(t, as(t, agent, policyOther), []attempt{{conditionOf("DevicesUnhealthy"), aboutOthers}}, way...)
			expectOfNode(t, as(t, agent, ""), []attempt{{conditionOf("DevicesUnhealthy"), namesNoNode}}, way...)
		}
	}
}

func TestAnAgentLabelsItsNodeWhereThatIsConfigured(t *testing.T) {
	c := theCluster(t)
	c.installAgentPolicies(t, "labelsNodes", "true")
	for _, agent := range []string{hamiAgent, nvidiaAgent} {
		expectOfNode(t, as(t, agent, policyNode), []attempt{
			{labelled1("nvidia.com/gpu.count", `"8"`), ""},
			{labelled1("tessera.dev/x", `"8"`), ""},
			{annotating("tessera.dev/owned-labels", `"nvidia.com/gpu.count"`), ""},
			{labelled1("nvidia.com/gpu.count", `null`), ""},
			{labelled1("nvidia.company/x", `"y"`), notOfNodes + "label nvidia.company/x"},
			{labelled1("node-restriction.kubernetes.io/x", `"y"`), notOfNodes + "label node-restriction.kubernetes.io/x"},
		})
		expectOfNode(t, as(t, agent, policyOther), []attempt{{labelled1("nvidia.com/gpu.count", `"8"`), aboutOthers}})
	}
}

func (c *cluster) expectOfPod(t *testing.T, client kubernetes.Interface, attempts []attempt) {
	t.Helper()
	for _, one := range attempts {
		_, err := client.CoreV1().Pods(metav1.NamespaceDefault).Patch(t.Context(), "pod", types.MergePatchType,
			[]byte(one.patch), metav1.PatchOptions{})
		equal(t, one.patch, refusal(err), one.refused)
	}
}

func TestAnAgentWritesOfItsNodesPodsWhatBecameOfThemAndNothingElse(t *testing.T) {
	c := theCluster(t)
	c.installAgentPolicies(t)
	c.podOfPolicyNode(t, c.client, "pod", map[string]string{allocated: "x", toAllocate: "x"})
	never := []attempt{
		{annotating(allocated, `"y"`), notOfPods + "annotation " + allocated},
		{annotating(allocated, `null`), notOfPods + "annotation " + allocated},
		{annotating(vgpuNode, `"`+policyNode+`"`), notOfPods + "annotation " + vgpuNode},
		{labelled1(vgpuNode, `"`+policyNode+`"`), notOfPods + "label " + vgpuNode},
		{`{"metadata":{"finalizers":["example.com/x"]}}`, notOfPods + "metadata.finalizers"},
		{`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"x","uid":"y"}]}}`,
			notOfPods + "metadata.ownerReferences"},
	}

	c.expectOfPod(t, as(t, hamiAgent, policyNode), append([]attempt{
		{annotating(toAllocate, `";"`), ""}, {annotating(bindPhase, `"success"`), ""}}, never...))
	c.expectOfPod(t, as(t, nvidiaAgent, policyNode), append([]attempt{
		{annotating(bindPhase, `"failed"`), notOfPods + "annotation " + bindPhase}}, never...))
	c.expectOfPod(t, as(t, hamiAgent, policyOther), []attempt{{annotating(bindPhase, `"failed"`), aboutOthers}})
	c.expectOfPod(t, as(t, hamiAgent, ""), []attempt{{annotating(bindPhase, `"failed"`), namesNoNode}})
	equal(t, "the status", refusal(writePod(t.Context(), as(t, nvidiaAgent, policyNode), "pod", "x", "y", "status")),
		notOfPods+"annotation x")
}

func TestAnAgentFitsPodsOfItsNodeInWhereThatIsConfigured(t *testing.T) {
	c := theCluster(t)
	c.installAgentPolicies(t, "fitsPods", "true")
	c.podOfPolicyNode(t, c.client, "pod", nil)
	fitted := fmt.Sprintf(`{"metadata":{"annotations":{%q:"x",%q:%q},"labels":{%q:%q}}}`, allocated, vgpuNode,
		policyNode, vgpuNode, policyNode)

	c.expectOfPod(t, as(t, nvidiaAgent, policyNode), []attempt{
		{annotating(allocated, `"x"`), notOfPods + "annotation " + allocated},
		{labelled1(vgpuNode, `"`+policyNode+`"`), notOfPods + "label " + vgpuNode}})
	c.expectOfPod(t, as(t, hamiAgent, policyNode), []attempt{
		{annotating(vgpuNode, `"`+policyOther+`"`), notOfPods + "annotation " + vgpuNode},
		{labelled1(vgpuNode, `"`+policyOther+`"`), notOfPods + "label " + vgpuNode},
		{labelled1("example.com/x", `"y"`), notOfPods + "label example.com/x"},
		{fitted, ""}})
	c.expectOfPod(t, as(t, hamiAgent, policyOther), []attempt{{annotating(allocated, `"y"`), aboutOthers}})
}

// eventOf makes an event in the agent's format, about an object in the default namespace or about a
// node.
func eventOf(kind, name, node string) *v1.Event {
	event := &v1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: "e2e-", Namespace: metav1.NamespaceDefault},
		InvolvedObject: v1.ObjectReference{APIVersion: "v1", Kind: kind, Name: name},
		Source:         v1.EventSource{Component: "tessera", Host: node},
		Reason:         "DeviceUnhealthy", Type: v1.EventTypeWarning, Count: 1,
		ReportingController: "tessera", ReportingInstance: node,
	}
	if kind != "Node" {
		event.InvolvedObject.Namespace = metav1.NamespaceDefault
	}
	return event
}

func makeEvent(ctx context.Context, client kubernetes.Interface, event *v1.Event) error {
	_, err := client.CoreV1().Events(event.Namespace).Create(ctx, event, metav1.CreateOptions{})
	return err
}

func TestAnAgentTellsOfItsNodeAndOfPodsAndSaysThatItDoes(t *testing.T) {
	c := theCluster(t)
	c.installAgentPolicies(t)
	t.Cleanup(func() {
		must(t, c.client.CoreV1().Events(metav1.NamespaceDefault).
			DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	})
	const notFromThere = "an event from the agent of node " + policyNode + " must name tessera and that node as its source"
	const notAlone = "the agent of node " + policyNode + " may report events of that node and of pods, not of "
	changed := func(change func(*v1.Event)) *v1.Event {
		event := eventOf("Pod", "pod", policyNode)
		change(event)
		return event
	}
	for _, agent := range []string{hamiAgent, nvidiaAgent} {
		client := as(t, agent, policyNode)
		for _, one := range []struct {
			what    string
			event   *v1.Event
			refused string
		}{
			{"its node", eventOf("Node", policyNode, policyNode), ""},
			{"a pod", eventOf("Pod", "pod", policyNode), ""},
			{"another node", eventOf("Node", policyOther, policyNode), notAlone + "Node " + policyOther},
			{"a secret", eventOf("Secret", "x", policyNode), notAlone + "Secret x"},
			{"another's voice", eventOf("Node", policyNode, policyOther), notFromThere},
			{"kubelet's voice", changed(func(e *v1.Event) { e.Source.Component = "kubelet" }), notFromThere},
			{"another controller's", changed(func(e *v1.Event) { e.ReportingController = "kubelet" }), notFromThere},
			{"another instance", changed(func(e *v1.Event) { e.ReportingInstance = policyOther }), notFromThere},
			{"nobody's voice", changed(func(e *v1.Event) { e.Source = v1.EventSource{} }), notFromThere},
		} {
			equal(t, agent+": "+one.what, refusal(makeEvent(t.Context(), client, one.event)), one.refused)
		}
		equal(t, "a token without a node", refusal(makeEvent(t.Context(), as(t, agent, ""),
			eventOf("Pod", "pod", policyNode))), namesNoNode)
	}
}

// The API server evaluates the roles that deploy/ ships.
func TestAnAgentsRoleHasNoRightThatItDoesNotNeed(t *testing.T) {
	c := theCluster(t)
	for _, flavour := range []string{"nvidia", "hami"} {
		for _, m := range c.readManifests(t, flavour+"/rbac.yaml") {
			t.Cleanup(func() { must(t, m.delete(context.Background())) })
			m.apply(t)
		}
	}
	may := func(user, verb, resource, part string) bool {
		allowed, err := c.may(t.Context(), user, verb, resource, part)
		must(t, err)
		return allowed
	}
	rights := map[string][]string{}
	for _, user := range []string{nvidiaAgent, hamiAgent} {
		eventually(t, func(context.Context) error {
			if !may(user, "create", "events", "") {
				return errors.New("the role of " + user + " is not known yet")
			}
			return nil
		})
		for _, resource := range []string{"events", "nodes", "nodes/status", "nodes/proxy", "pods", "pods/status",
			"pods/exec", "pods/eviction", "pods/ephemeralcontainers", "secrets", "configmaps", "namespaces"} {
			for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete"} {
				name, part, _ := strings.Cut(resource, "/")
				if may(user, verb, name, part) {
					rights[user] = append(rights[user], verb+" "+resource)
				}
			}
		}
	}
	equal(t, "rights", fmt.Sprint(rights), fmt.Sprint(map[string][]string{
		nvidiaAgent: {"create events", "get nodes", "patch nodes/status"},
		hamiAgent: {"create events", "get nodes", "list nodes", "watch nodes", "patch nodes", "patch nodes/status",
			"get pods", "list pods", "watch pods", "patch pods"},
	}))
}
