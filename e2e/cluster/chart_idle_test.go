// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// The chart has no node selector, so "helm --wait" waits for nodes without a GPU too.
func TestOnANodeWithoutAGPUTheChartsAgentIsReadyAndIdle(t *testing.T) {
	c := theCluster(t)
	c.removeEvents(t)
	c.removeReleaseAtEnd(t, "idle")
	helm(t, "install", "idle", filepath.Join(deployDirectory, "chart/tessera"), "--wait", "--timeout", "2m")
	c.expectDaemonSet(t, "idle-tessera", true)
	eventually(t, func(ctx context.Context) error {
		node, err := c.node(ctx)
		if err != nil {
			return err
		}
		if count, there := node.Status.Capacity[gpu]; !there || !count.IsZero() {
			return fmt.Errorf("kubelet knows %v GPUs (known: %v), not 0", count.String(), there)
		}
		for _, one := range node.Status.Conditions {
			if one.Type == condition && one.Status != v1.ConditionFalse {
				return fmt.Errorf("the node has the condition %+v", one)
			}
		}
		return nil
	})
	c.expectEvents(t, &v1.Pod{})
}
