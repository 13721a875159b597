// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const staticLabel = "e2e/static"

// otherResources returns as many kinds of resources as a share has. Only kube-scheduler counts
// them.
func otherResources(each int64) v1.ResourceList {
	list := v1.ResourceList{}
	for _, name := range []v1.ResourceName{"example.com/one", "example.com/two", "example.com/three"} {
		list[name] = *resource.NewQuantity(each, resource.DecimalSI)
	}
	return list
}

// inParallel calls do for 0 to count-1, 32 at a time.
func inParallel(t *testing.T, count int, do func(n int) error) {
	t.Helper()
	var workers sync.WaitGroup
	for first := range 32 {
		workers.Go(func() {
			for n := first; n < count; n += 32 {
				if err := do(n); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	workers.Wait()
}

// addStaticNodes adds nodes with the real node's GPUs under other ids. No kubelet runs there, so
// the pods that are bound to them never start.
func (c *cluster) addStaticNodes(t *testing.T, count int) {
	t.Helper()
	real, err := c.node(t.Context())
	must(t, err)
	t.Cleanup(func() {
		must(t, c.client.CoreV1().Nodes().DeleteCollection(context.Background(), metav1.DeleteOptions{},
			metav1.ListOptions{LabelSelector: staticLabel}))
	})
	status := *real.Status.DeepCopy()
	for name, each := range otherResources(1000) {
		status.Allocatable[name], status.Capacity[name] = each, each
	}
	inParallel(t, count, func(n int) error {
		annotations := map[string]string{}
		for key, value := range real.Annotations {
			annotations[key] = strings.ReplaceAll(value, "GPU-", fmt.Sprintf("GPU-%05d-", n))
		}
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("static-%05d", n), Annotations: annotations,
			Labels: map[string]string{staticLabel: ""}}, Status: status}
		_, err := c.client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
		return err
	})
}

// boundASecond creates this many pods at once for the static nodes. It returns the rate at which
// they are bound, in pods a second.
func (c *cluster) boundASecond(t *testing.T, h *hami, count int, limits v1.ResourceList) float64 {
	t.Helper()
	begun := time.Now()
	made := make([]*v1.Pod, count)
	inParallel(t, count, func(n int) (err error) {
		pod := podOf(fmt.Sprintf("static-%d", n), 0, stay)
		pod.Spec.Containers[0].Resources.Limits = limits
		pod.Spec.SchedulerName = hamisName
		pod.Spec.NodeSelector = map[string]string{staticLabel: ""}
		// The API server taints new nodes as not ready. The node controller, which would remove the
		// taint, is stopped.
		pod.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
		made[n], err = c.pods().Create(t.Context(), pod, metav1.CreateOptions{})
		return err
	})
	var last time.Time
	for _, pod := range made {
		_, err := h.waitFor(t.Context(), pod, func(now *v1.Pod) bool { return now.Spec.NodeName != "" })
		must(t, err)
		h.mutex.Lock()
		if at := h.bound[pod.UID]; at.After(last) {
			last = at
		}
		h.mutex.Unlock()
	}
	var atOnce int64
	must(t, c.pods().DeleteCollection(t.Context(), metav1.DeleteOptions{GracePeriodSeconds: &atOnce}, metav1.ListOptions{}))
	must(t, c.removePods(t.Context()))
	return float64(count) / last.Sub(begun).Seconds()
}

// TESSERA_E2E_NODES=5000 runs the test with that many nodes.
func TestTheSchedulerBindsPodsToManyNodesAsFastAsPlainOnes(t *testing.T) {
	nodes, pods, times := 20, 20, 1
	if text := os.Getenv("TESSERA_E2E_NODES"); text != "" {
		var err error
		nodes, err = strconv.Atoi(text)
		must(t, err)
		pods, times = 200, 3
	}
	c := theCluster(t)
	// By default kube-scheduler's client limits its own requests, which would slow the bindings of
	// plain pods.
	h := c.startSharesWith(t, func(m manifest) {
		if text, found, _ := unstructured.NestedString(m.object.Object, "data", "kube-scheduler.yaml"); found {
			text += "clientConnection: {qps: 1000, burst: 1000}\n"
			must(t, unstructured.SetNestedField(m.object.Object, text, "data", "kube-scheduler.yaml"))
		}
	})
	// The node controller would take the static nodes for lost, because no kubelet reports their
	// status.
	controllers := c.processes["kube-controller-manager"].command.Process
	must(t, controllers.Signal(syscall.SIGSTOP))
	t.Cleanup(func() { must(t, controllers.Signal(syscall.SIGCONT)) })
	c.addStaticNodes(t, nodes)
	kinds := map[string]v1.ResourceList{
		"plain": {}, "other": otherResources(1), "share": asked{count: 1, memory: 2000, cores: 5}.limits()}
	for _, limits := range kinds {
		c.boundASecond(t, h, 1, limits)
	}

	found := map[string][]float64{}
	for range times {
		for kind, limits := range kinds {
			found[kind] = append(found[kind], c.boundASecond(t, h, pods, limits))
		}
	}

	median := func(kind string) float64 { return medianOf(found[kind]) }
	fmt.Printf("measured pods bound to %d nodes: %.1f a second with shares of GPUs, %.1f plain, %.1f with as many other "+
		"resources; ratios %.2f and %.2f (medians of %d times %d pods)\n", nodes, median("share"), median("plain"),
		median("other"), median("share")/median("plain"), median("share")/median("other"), times, pods)
}
