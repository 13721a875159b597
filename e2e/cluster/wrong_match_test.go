// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	kinds "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var oneModest = asked{count: 1, memory: 700, cores: 10}

// bindUnseen makes HAMi's scheduler bind a pod while kubelet is stopped, and waits until the agent
// has seen the pod. The proof is a later pod of the same watch: it has ended, and the agent
// releases its lock.
func (c *cluster) bindUnseen(t *testing.T, h *hami) *v1.Pod {
	t.Helper()
	unseen := c.createAsking(t, podAsking("unseen", containerAsking("main", oneModest, stay)))
	_, err := h.waitFor(t.Context(), unseen, func(now *v1.Pod) bool { return now.Spec.NodeName != "" })
	must(t, err)

	last := c.createAsking(t, forged("last", oneModest, ""))
	eventually(t, func(ctx context.Context) error {
		node, err := c.node(ctx)
		if err != nil {
			return err
		}
		return h.setLock(ctx, node, fmt.Sprintf("%s,%s,last", time.Now().UTC().Format(time.RFC3339), last.Namespace))
	})
	last.Status.Phase = v1.PodFailed
	_, err = c.pods().UpdateStatus(t.Context(), last, metav1.UpdateOptions{})
	must(t, err)
	c.waitForUnlocked(t)
	return unseen
}

// waitForUnlocked waits until no pod has the node's lock.
func (c *cluster) waitForUnlocked(t *testing.T) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		node, err := c.node(ctx)
		if err == nil && node.Annotations[lockKey] != "" {
			err = fmt.Errorf("the node's lock is still %s", node.Annotations[lockKey])
		}
		return err
	})
}

// mismatch makes the agent match a grant to the wrong pod. The pod `meant` is bound while kubelet
// is stopped, and deleted while the agent cannot reach the API server. So the agent still expects
// `meant`, and takes `given` for it.
func (c *cluster) mismatch(t *testing.T, h *hami) (meant, given *v1.Pod) {
	t.Helper()
	c.processes["kubelet"].end(syscall.SIGTERM)
	meant = c.bindUnseen(t, h)
	c.closeService()
	at := int64(0)
	for _, name := range []string{"unseen", "last"} {
		must(t, c.pods().Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &at}))
	}
	must(t, c.startKubelet())
	c.waitForResource(t, gpu, "80 of 80")

	given = podAsking("given", containerAsking("main", oneModest, stay))
	given.Spec.NodeName, given.Spec.SchedulerName = nodeName, ""
	given = c.createAsking(t, given)
	// kubelet has the answer to Allocate, and now asks whether the container may start.
	_, err := h.waitFor(t.Context(), given, func(now *v1.Pod) bool {
		return strings.Contains(describe(now), "PreStart")
	})
	must(t, err)
	must(t, c.openService())
	return meant, given
}

// wrongly returns the refusal of a container that got the grant of another one.
func wrongly(meant, given *v1.Pod) string {
	return fmt.Sprintf("container main: nvidia.com/gpu: kubelet gave container main of pod %s the grant "+
		"of container main of pod %s [wrong-match]: delete the pod: kubelet keeps the answer that it got for it, and no retry "+
		"mends that", given.UID, meant.UID)
}

func TestWithoutCDIAContainerThatWasTakenForAnotherDoesNotStartAndAnEventSaysToDeleteItsPod(t *testing.T) {
	c := theCluster(t)
	h := c.startMatchedWith(t, "")
	c.removeEvents(t)

	meant, given := c.mismatch(t, h)

	c.expectEvents(t, given, told{"Pod given", "Warning", "VirtualGpuRefused", wrongly(meant, given)})
	expectNoReport(t, given)
	must(t, c.pods().Delete(t.Context(), "given", metav1.DeleteOptions{}))
	pod := c.createAsking(t, podAsking("next", containerAsking("main", oneModest, stay)))
	h.expectSaid(t, pod.UID, "main", 1)
}

func TestWithoutCDIAPodThatWasTakenForAnotherIsEvictedWhereThatIsConfigured(t *testing.T) {
	c := theCluster(t)
	h := c.startMatched(t)

	_, given := c.mismatch(t, h)

	eventually(t, func(ctx context.Context) error {
		now, err := c.pods().Get(ctx, "given", metav1.GetOptions{})
		if kinds.IsNotFound(err) {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("pod given is still there: %s", describe(now))
		}
		return err
	})
	expectNoReport(t, given)
}
