// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	kinds "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// These are the names that HAMi's scheduler, webhook and plugin use.
const (
	hamisName = "hami-scheduler"

	gpuMemory     = v1.ResourceName("nvidia.com/gpumem")
	gpuPercentage = v1.ResourceName("nvidia.com/gpumem-percentage")
	gpuCores      = v1.ResourceName("nvidia.com/gpucores")

	registerKey  = "hami.io/node-nvidia-register"
	lockKey      = "hami.io/mutex.lock"
	vgpuNodeKey  = "hami.io/vgpu-node" // also a label
	vgpuTimeKey  = "hami.io/vgpu-time"
	remainingKey = "hami.io/vgpu-devices-to-allocate"
	allocatedKey = "hami.io/vgpu-devices-allocated"
	phaseKey     = "hami.io/bind-phase"
	bindTimeKey  = "hami.io/bind-time"

	agentMark = "tessera.dev/agent" // only on nodes whose plugin is the agent
)

const (
	lockPause  = 100 * time.Millisecond // between two attempts to take the node's lock
	lockPatch  = 28 * time.Second       // then the scheduler gives up for now
	lockExpiry = 5 * time.Minute        // a lock older than this is free
)

var errLocked = errors.New("node lock contention")

// card is one GPU as the node's plugin registered it; memory in MiB, cores in percent.
type card struct {
	ID     string
	Index  int
	Count  int64
	Memory int64 `json:"devmem"`
	Cores  int64 `json:"devcore"`
	Health bool
}

// part is a container's part of one card; memory in MiB, cores in percent.
type part struct {
	card          card
	memory, cores int64
}

func (p part) takes() room { return room{1, p.memory, p.cores} }

// room is the used part of a card.
type room struct{ slots, memory, cores int64 }

func (r room) plus(more room) room {
	return room{r.slots + more.slots, r.memory + more.memory, r.cores + more.cores}
}

func (r room) most(other room) room {
	return room{max(r.slots, other.slots), max(r.memory, other.memory), max(r.cores, other.cores)}
}

// placement is the scheduler's choice for a pod.
type placement struct {
	parts     map[string][]part // by container
	taken     map[string]room   // of each card, while the pod lives
	allocated string            // the annotation's text
}

// hami is a fake of HAMi's scheduler, which is also its binder. It chooses GPUs for pods that name
// it, writes the choice into their annotations, takes the node's lock and binds them. It waits for
// the lock as HAMi does for pods of a group. After a failed attempt it retries a second later. Any
// goroutine may use it.
type hami struct {
	client  kubernetes.Interface
	cards   []card
	workers sync.WaitGroup
	locking sync.Mutex // serialises this scheduler's own changes of the node's lock

	namesGPUs bool // without CDI, a variable names the GPUs
	reads     bool // another scheduler chooses; this one only reads its choices

	mutex    sync.Mutex
	pods     map[string]*v1.Pod          // by name, as the API server last reported them
	seen     map[types.UID]bool          // pods whose scheduling has started
	placed   map[types.UID]placement     // the last choice for each pod
	reserved map[types.UID]bool          // pods that still use room
	failures map[string]int              // failed attempts to bind, by error
	waited   map[types.UID]time.Duration // for the lock
	bound    map[types.UID]time.Time
	running  map[types.UID]time.Time
	holder   string        // the pod that has the lock, as the API server last reported the node
	kept     time.Duration // the total time for which locks outlived the bindings of their pods
}

// startHAMi waits until the plugin has registered this many GPUs, then schedules pods until the
// test's end.
func (c *cluster) startHAMi(t *testing.T, count int) *hami {
	t.Helper()
	return c.startAs(t, count, false)
}

// startReading follows the pods that another scheduler places.
func (c *cluster) startReading(t *testing.T, count int) *hami {
	t.Helper()
	return c.startAs(t, count, true)
}

func (c *cluster) startAs(t *testing.T, count int, reads bool) *hami {
	t.Helper()
	h := &hami{reads: reads, client: c.client, pods: map[string]*v1.Pod{}, seen: map[types.UID]bool{},
		placed: map[types.UID]placement{}, reserved: map[types.UID]bool{}, failures: map[string]int{},
		waited: map[types.UID]time.Duration{}, bound: map[types.UID]time.Time{}, running: map[types.UID]time.Time{}}
	eventually(t, func(ctx context.Context) error {
		node, err := c.node(ctx)
		if err != nil {
			return err
		}
		text := node.Annotations[registerKey]
		h.cards = nil
		if err := json.Unmarshal([]byte(text), &h.cards); err != nil {
			return fmt.Errorf("%s is %q: %w", registerKey, text, err)
		}
		healthy := func(one card) bool { return one.Health }
		if len(h.cards) != count || !slices.ContainsFunc(h.cards, healthy) {
			return fmt.Errorf("%d GPUs are not registered: %s", count, text)
		}
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(c.client.CoreV1().RESTClient(), "pods",
			metav1.NamespaceDefault, fields.Everything()),
		ObjectType: &v1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { h.see(ctx, object.(*v1.Pod)) },
			UpdateFunc: func(_, object any) { h.see(ctx, object.(*v1.Pod)) },
			DeleteFunc: func(object any) {
				if last, missed := object.(cache.DeletedFinalStateUnknown); missed {
					object = last.Obj
				}
				h.forget(object.(*v1.Pod))
			},
		},
	})
	_, nodes := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(c.client.CoreV1().RESTClient(), "nodes", "", fields.Everything()),
		ObjectType:    &v1.Node{},
		Handler:       cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, node any) { h.seeLock(node.(*v1.Node)) }},
	})
	h.workers.Go(func() { informer.RunWithContext(ctx) })
	h.workers.Go(func() { nodes.RunWithContext(ctx) })
	t.Cleanup(func() {
		cancel()
		h.workers.Wait()
	})
	return h
}

func (h *hami) see(ctx context.Context, pod *v1.Pod) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.pods[pod.Name] = pod
	if h.bound[pod.UID].IsZero() && pod.Spec.NodeName != "" {
		h.bound[pod.UID] = time.Now()
	}
	if h.running[pod.UID].IsZero() && pod.Status.Phase == v1.PodRunning {
		h.running[pod.UID] = time.Now()
	}
	if pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
		delete(h.reserved, pod.UID)
	}
	if h.reads {
		h.readPlacement(pod)
	} else if pod.Spec.SchedulerName == hamisName && pod.Spec.NodeName == "" && !h.seen[pod.UID] {
		h.seen[pod.UID] = true
		h.workers.Go(func() { h.schedule(ctx, pod) })
	}
}

// seeLock adds up for how long locks remain after their pods are bound.
func (h *hami) seeLock(node *v1.Node) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	words := append(strings.Split(node.Annotations[lockKey], ","), "", "")
	if pod := h.pods[h.holder]; pod != nil && words[2] != h.holder && !h.bound[pod.UID].IsZero() {
		h.kept += time.Since(h.bound[pod.UID])
	}
	h.holder = words[2]
}

// takeKept returns that time since its last call.
func (h *hami) takeKept() time.Duration {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	kept := h.kept
	h.kept = 0
	return kept
}

func (h *hami) forget(pod *v1.Pod) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	delete(h.reserved, pod.UID)
	if now := h.pods[pod.Name]; now != nil && now.UID == pod.UID {
		delete(h.pods, pod.Name)
	}
}

// now returns the pod of that name as last reported, or nil.
func (h *hami) now(name string) *v1.Pod {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.pods[name]
}

// placementOf returns the last choice for a pod, by which it was bound.
func (h *hami) placementOf(uid types.UID) placement {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.placed[uid]
}

// schedule retries until the pod is bound or gone.
func (h *hami) schedule(ctx context.Context, pod *v1.Pod) {
	for ctx.Err() == nil && h.waits(pod) {
		pause := lockPause // without room: retry until another pod ends
		if placed, fits := h.choose(pod); fits {
			err := h.bind(ctx, pod, placed)
			if err == nil {
				return
			}
			h.mutex.Lock()
			h.failures[err.Error()]++
			delete(h.reserved, pod.UID)
			h.mutex.Unlock()
			pause = time.Second
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// waits says whether this very pod, not a later one of its name, can still be scheduled.
func (h *hami) waits(pod *v1.Pod) bool {
	now := h.now(pod.Name)
	return now != nil && now.UID == pod.UID && now.DeletionTimestamp == nil
}

// containersOf returns a pod's containers in HAMi's order.
func containersOf(pod *v1.Pod) []v1.Container {
	return slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
}

// choose reserves cards for a pod: for each container the cards with the fewest parts.
func (h *hami) choose(pod *v1.Pod) (placement, bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	delete(h.reserved, pod.UID)
	others, beside := h.others(), map[string]room{}
	chosen := placement{parts: map[string][]part{}}
	for n, container := range containersOf(pod) {
		free := func(one card) room { return others[one.ID].plus(beside[one.ID]) }
		parts := h.fit(askedBy(container), free)
		if parts == nil {
			return placement{}, false
		}
		chosen.parts[container.Name] = parts
		if n < len(pod.Spec.InitContainers) && container.RestartPolicy == nil {
			continue // it ends before the next container starts
		}
		for _, one := range parts {
			beside[one.card.ID] = beside[one.card.ID].plus(one.takes())
		}
	}
	chosen.taken = h.takenBy(pod, chosen.parts)
	// The pod may be gone or replaced since the caller looked. A reservation for it would never be
	// released.
	if now := h.pods[pod.Name]; now == nil || now.UID != pod.UID {
		return placement{}, false
	}
	chosen.allocated = encode(pod, chosen.parts, len(h.placed)%2 == 0)
	h.placed[pod.UID], h.reserved[pod.UID] = chosen, true
	return chosen, true
}

// fit returns as many cards as the container asks for, or nil if too few have room.
func (h *hami) fit(asked asked, taken func(card) room) []part {
	parts := []part{}
	cards := slices.SortedStableFunc(slices.Values(h.cards), func(a, b card) int {
		return cmp.Compare(taken(a).slots, taken(b).slots)
	})
	for _, one := range cards {
		wanted := part{one, asked.memoryOn(one), asked.cores}
		then := taken(one).plus(wanted.takes())
		if int64(len(parts)) < asked.count && one.Health && then.slots <= one.Count &&
			then.memory <= one.Memory && then.cores <= one.Cores {
			parts = append(parts, wanted)
		}
	}
	if int64(len(parts)) < asked.count {
		return nil
	}
	return parts
}

// encode returns the placement as the annotation's text. HAMi up to 2.9 writes an empty entry for a
// container without a GPU; 2.10 omits it.
func encode(pod *v1.Pod, parts map[string][]part, placeholders bool) (text string) {
	for _, container := range containersOf(pod) {
		for _, one := range parts[container.Name] {
			text += fmt.Sprintf("%s,NVIDIA,%d,%d:", one.card.ID, one.memory, one.cores)
		}
		if placeholders || len(parts[container.Name]) > 0 {
			text += ";"
		}
	}
	return text
}

// bind writes the placement into the pod, takes the node's lock, and binds the pod to the node.
func (h *hami) bind(ctx context.Context, pod *v1.Pod, chosen placement) error {
	if err := h.annotate(ctx, pod, map[string]any{vgpuNodeKey: nodeName, vgpuTimeKey: unixTime(),
		remainingKey: chosen.allocated, allocatedKey: chosen.allocated}); err != nil {
		return err
	}
	if asksInApps(pod) {
		if err := h.waitForLock(ctx, pod); err != nil {
			return err
		}
	}
	err := h.annotate(ctx, pod, map[string]any{phaseKey: "allocating", bindTimeKey: unixTime()})
	if err == nil {
		err = h.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &v1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
			Target:     v1.ObjectReference{Kind: "Node", Name: nodeName},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		err = errors.Join(err, h.unlock(ctx, pod))
	}
	return err
}

func unixTime() string { return strconv.FormatInt(time.Now().Unix(), 10) }

// asksInApps says whether HAMi takes the lock for the pod. HAMi takes none if only init containers
// have GPUs.
func asksInApps(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(one v1.Container) bool { return askedBy(one).count > 0 })
}

// annotate patches this very pod, not a later one of its name: the patch holds the UID.
func (h *hami) annotate(ctx context.Context, pod *v1.Pod, values map[string]any) error {
	metadata := map[string]any{"uid": pod.UID, "annotations": values}
	if node, found := values[vgpuNodeKey]; found {
		metadata["labels"] = map[string]any{vgpuNodeKey: node}
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	_, err = h.client.CoreV1().Pods(pod.Namespace).
		Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

func (h *hami) waitForLock(ctx context.Context, pod *v1.Pod) error {
	begun := time.Now()
	for {
		err := h.lock(ctx, pod)
		if err == nil || !errors.Is(err, errLocked) || time.Since(begun) > lockPatch {
			h.mutex.Lock()
			h.waited[pod.UID] = time.Since(begun)
			h.mutex.Unlock()
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPause):
		}
	}
}

// lock takes the node's lock for a pod. It also takes the lock of a pod that is gone, and an
// expired one.
func (h *hami) lock(ctx context.Context, pod *v1.Pod) error {
	h.locking.Lock()
	defer h.locking.Unlock()
	node, err := h.client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if held := node.Annotations[lockKey]; held != "" {
		words := strings.Split(held, ",")
		since, err := time.Parse(time.RFC3339, words[0])
		if err != nil || len(words) != 3 {
			return fmt.Errorf("the node's lock is %q", held)
		}
		if words[1] == pod.Namespace && words[2] == pod.Name {
			return nil
		}
		_, err = h.client.CoreV1().Pods(words[1]).Get(ctx, words[2], metav1.GetOptions{})
		switch {
		case kinds.IsNotFound(err) || err == nil && time.Since(since) > lockExpiry:
		case err != nil:
			return err
		default:
			return errLocked
		}
	}
	value := fmt.Sprintf("%s,%s,%s", time.Now().UTC().Format(time.RFC3339), pod.Namespace, pod.Name)
	return h.setLock(ctx, node, value)
}

// unlock releases the lock if this pod holds it. It retries on conflicts, because kubelet and
// others change the node as well.
func (h *hami) unlock(ctx context.Context, pod *v1.Pod) error {
	h.locking.Lock()
	defer h.locking.Unlock()
	for {
		node, err := h.client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
		if err != nil || !strings.HasSuffix(node.Annotations[lockKey], ","+pod.Namespace+","+pod.Name) {
			return err
		}
		if err := h.setLock(ctx, node, nil); !errors.Is(err, errLocked) {
			return err
		}
	}
}

// setLock writes the lock into the node that the caller has read. The resource version makes a
// write based on an older node fail with errLocked.
func (h *hami) setLock(ctx context.Context, node *v1.Node, value any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": node.ResourceVersion, "annotations": map[string]any{lockKey: value}}})
	if err != nil {
		return err
	}
	_, err = h.client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if kinds.IsConflict(err) {
		return errLocked
	}
	return err
}
