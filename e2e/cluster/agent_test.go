// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	agentNamespace = "kube-system"
	agentSelector  = "app.kubernetes.io/name in (tessera, tessera-nvidia, tessera-hami, nvidia-device-plugin)"
	agentState     = "/var/lib/tessera"
)

// installAgent applies deploy/examples/daemonset.yaml, edited by change unless that is nil, and
// waits until the agent is ready. The test's end removes the agent, its state and all pods.
func (c *cluster) installAgent(t *testing.T, change func(manifest)) {
	t.Helper()
	c.install(t, change, c.readManifests(t, "examples/daemonset.yaml")...)
}

// install does the same with any manifests.
func (c *cluster) install(t *testing.T, change func(manifest), manifests ...manifest) {
	t.Helper()
	t.Cleanup(func() { must(t, os.RemoveAll(agentState)) })
	for _, m := range manifests {
		if change != nil {
			change(m)
		}
		t.Cleanup(func() { must(t, m.delete(context.Background())) })
		m.apply(t)
	}
	t.Cleanup(func() {
		if t.Failed() {
			c.showAgentLogs(t)
		}
		must(t, c.removePods(context.Background()))
	})
	c.waitForAgent(t)
}

// agentPods returns the agent's pods: two of them during an update.
func (c *cluster) agentPods(ctx context.Context) ([]v1.Pod, error) {
	list, err := c.client.CoreV1().Pods(agentNamespace).
		List(ctx, metav1.ListOptions{LabelSelector: agentSelector})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// waitForAgent waits until exactly one agent is there and ready, and returns its pod.
func (c *cluster) waitForAgent(t *testing.T) *v1.Pod {
	t.Helper()
	var agent *v1.Pod
	eventually(t, func(ctx context.Context) error {
		pods, err := c.agentPods(ctx)
		if err != nil {
			return err
		}
		if len(pods) != 1 {
			return fmt.Errorf("there are %d agents", len(pods))
		}
		agent = &pods[0]
		for _, condition := range agent.Status.Conditions {
			if condition.Type == v1.PodReady && condition.Status == v1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("the agent is not ready: %s", describe(agent))
	})
	return agent
}

// waitForDevices waits for the node's counts of NPUs, allocatable of capacity: "63 of 64".
func (c *cluster) waitForDevices(t *testing.T, counts string) {
	t.Helper()
	c.waitForResource(t, npu, counts)
}

func (c *cluster) waitForResource(t *testing.T, name v1.ResourceName, counts string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		node, err := c.node(ctx)
		if err != nil {
			return err
		}
		capacity, allocatable := node.Status.Capacity[name], node.Status.Allocatable[name]
		now := fmt.Sprintf("%d of %d", allocatable.Value(), capacity.Value())
		if now != counts {
			return fmt.Errorf("%s of %s are allocatable, not %s", now, name, counts)
		}
		return nil
	})
}

// tessera runs a tessera command in the agent's container and returns its output.
func (c *cluster) tessera(t *testing.T, arguments ...string) string {
	t.Helper()
	command := append([]string{"/usr/bin/tessera"}, arguments...)
	output, err := c.run(t.Context(), c.waitForAgent(t), command...)
	must(t, err)
	return output
}

func (c *cluster) showAgentLogs(t *testing.T) {
	pods, err := c.agentPods(context.Background())
	c.showLogs(t, pods, err)
}

func (c *cluster) showLogs(t *testing.T, pods []v1.Pod, err error) {
	for _, pod := range pods {
		content, failed := c.client.CoreV1().Pods(agentNamespace).
			GetLogs(pod.Name, &v1.PodLogOptions{}).DoRaw(context.Background())
		t.Logf("the log of %s:\n%s", pod.Name, content)
		err = errors.Join(err, failed)
	}
	if err != nil {
		t.Log(err)
	}
}
