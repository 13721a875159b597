// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	kinds "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

const wholeNodeName = "node-2"

// wholeNode is a fake of kubelet, on a node where NVIDIA's own plugin grants whole GPUs. No plugin
// registers them for HAMi's scheduler. It runs each pod that it admits, and refuses a pod that asks
// for more than is left. Any goroutine may use it.
type wholeNode struct {
	client kubernetes.Interface
	gpus   int64

	mutex  sync.Mutex
	has    map[types.UID]int64
	failed []string
}

// startWholeNode adds such a node to the cluster until the test's end.
func (c *cluster) startWholeNode(t *testing.T, gpus int64) *wholeNode {
	t.Helper()
	w := &wholeNode{client: c.client, gpus: gpus, has: map[types.UID]int64{}}
	nodes := c.client.CoreV1().Nodes()
	_, err := nodes.Create(t.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: wholeNodeName}}, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() { must(t, nodes.Delete(context.Background(), wholeNodeName, metav1.DeleteOptions{})) })
	must(t, w.tell(t.Context()))

	ctx, cancel := context.WithCancel(context.Background())
	take := func(object any) { w.take(ctx, object.(*v1.Pod)) }
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(c.client.CoreV1().RESTClient(), "pods", metav1.NamespaceAll,
			fields.OneTermEqualSelector("spec.nodeName", wholeNodeName)),
		ObjectType: &v1.Pod{},
		Handler:    cache.ResourceEventHandlerFuncs{AddFunc: take, UpdateFunc: func(_, pod any) { take(pod) }},
	})
	var workers sync.WaitGroup
	workers.Go(func() { informer.RunWithContext(ctx) })
	workers.Go(func() { w.beat(ctx) })
	t.Cleanup(func() {
		// Only take completes the deletion of this node's pods, so they must be gone before the
		// informer stops.
		must(t, c.removePods(context.Background()))
		cancel()
		workers.Wait()
	})
	return w
}

// tell reports the node's status as kubelet does.
func (w *wholeNode) tell(ctx context.Context) error {
	has := v1.ResourceList{gpu: *resource.NewQuantity(w.gpus, resource.DecimalSI), v1.ResourcePods: resource.MustParse("110"),
		v1.ResourceCPU: resource.MustParse("8"), v1.ResourceMemory: resource.MustParse("8Gi")}
	status, err := json.Marshal(v1.Node{Status: v1.NodeStatus{Capacity: has, Allocatable: has, Conditions: []v1.NodeCondition{
		{Type: v1.NodeReady, Status: v1.ConditionTrue, LastHeartbeatTime: metav1.Now()}}}})
	if err != nil {
		return err
	}
	_, err = w.client.CoreV1().Nodes().Patch(ctx, wholeNodeName, types.StrategicMergePatchType, status,
		metav1.PatchOptions{}, "status")
	return err
}

// beat repeats the report until the context ends. The node controller takes a node for lost after
// most of a minute without a report.
func (w *wholeNode) beat(ctx context.Context) {
	for tick := time.NewTicker(10 * time.Second); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.note(w.tell(ctx))
		}
	}
}

// take handles a pod as kubelet does.
func (w *wholeNode) take(ctx context.Context, pod *v1.Pod) {
	pods := w.client.CoreV1().Pods(pod.Namespace)
	if pod.DeletionTimestamp != nil {
		w.hold(pod.UID, 0)
		w.note(pods.Delete(ctx, pod.Name, *metav1.NewDeleteOptions(0)))
		return
	}
	if pod.Status.Phase != v1.PodPending {
		return
	}
	var wants int64
	for _, container := range pod.Spec.Containers {
		wants += askedBy(container).count
	}
	told := pod.DeepCopy()
	told.Status.Phase = v1.PodRunning
	if !w.hold(pod.UID, wants) {
		w.note(fmt.Errorf("%s wants more GPUs than are left", pod.Name))
		told.Status.Phase, told.Status.Reason = v1.PodFailed, "UnexpectedAdmissionError"
	}
	_, err := pods.UpdateStatus(ctx, told, metav1.UpdateOptions{})
	if !kinds.IsConflict(err) { // after a conflict the informer reports the pod again
		w.note(err)
	}
}

// hold gives a pod this many GPUs, and says whether enough were left.
func (w *wholeNode) hold(pod types.UID, wants int64) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.has, pod)
	left := w.gpus
	for _, count := range w.has {
		left -= count
	}
	if wants > 0 && wants <= left {
		w.has[pod] = wants
	}
	return wants <= left
}

// note records an unexpected error. A pod that is gone already is no such error.
func (w *wholeNode) note(err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if err != nil && !kinds.IsNotFound(err) && !errors.Is(err, context.Canceled) {
		w.failed = append(w.failed, err.Error())
	}
}

// expectNoFailures checks that the node refused no pod and that no request failed.
func (w *wholeNode) expectNoFailures(t *testing.T) {
	t.Helper()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	equal(t, "what failed on "+wholeNodeName, w.failed, []string(nil))
}

// createWhole creates pods that each ask for a whole GPU.
func (c *cluster) createWhole(t *testing.T, count int) (pods []*v1.Pod) {
	t.Helper()
	for n := range count {
		pods = append(pods, c.createAsking(t,
			podAsking(fmt.Sprintf("whole-%d", n), containerAsking("main", asked{count: 1}, stay))))
	}
	return pods
}

// tellApart waits until this many of the pods run and each other one has the scheduler's reason. It
// returns both groups.
func (c *cluster) tellApart(t *testing.T, pods []*v1.Pod, count int) (running, waiting []*v1.Pod) {
	t.Helper()
	eventuallyAll(t, func(ctx context.Context) (int, error) {
		running, waiting = nil, nil
		var other error
		for _, pod := range pods {
			now, err := c.pods().Get(ctx, pod.Name, metav1.GetOptions{})
			switch {
			case err != nil:
				return 0, err
			case now.Status.Phase == v1.PodRunning:
				running = append(running, now)
			case waitsFor(now) != "":
				waiting = append(waiting, now)
			default:
				other = fmt.Errorf("%s is %s: %s", now.Name, now.Status.Phase, describe(now))
			}
		}
		if other == nil && len(running) != count {
			other = fmt.Errorf("%d pods run, not %d", len(running), count)
		}
		return len(running), other
	})
	return running, waiting
}

// expectOn checks that all of these pods are on the node.
func expectOn(t *testing.T, node string, pods []*v1.Pod) {
	t.Helper()
	for _, pod := range pods {
		equal(t, "the node of "+pod.Name, pod.Spec.NodeName, node)
	}
}

// Each GPU of the sharing node already has a pod with a quarter, so no whole GPU is left there.
func TestPodsOfWholeGPUsGoToANodeOfNVIDIAsPluginWhereTheOtherOneSharesItsOwn(t *testing.T) {
	c := theCluster(t)
	h := c.startShares(t)
	w := c.startWholeNode(t, 4)
	h.expectPlaced(t, c.createQuarters(t, 0, 8))

	created := c.createWhole(t, 6)
	quarters, left := c.tellApart(t, c.createQuarters(t, 8, 33), 24)
	whole, waiting := c.tellApart(t, created, 4)

	expectOn(t, nodeName, quarters)
	expectOn(t, wholeNodeName, whole)
	for _, pod := range slices.Concat(waiting, left) {
		said := waitsFor(pod)
		equal(t, "what "+pod.Name+" waits for: "+said, strings.Contains(said, "1 devices have too little memory left"), true)
	}
	c.deletePods(t, h, slices.Concat(whole[:2], quarters[:1]))
	h.expectPlaced(t, slices.Concat(quarters[1:], left))
	later, _ := c.tellApart(t, waiting, len(waiting))
	expectOn(t, wholeNodeName, later)
	w.expectNoFailures(t)
}
