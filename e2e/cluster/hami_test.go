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

// What HAMi's scheduler, webhook and plugin call things.
const (
	hamisName = "hami-scheduler"

	gpuMemory     = v1.ResourceName("nvidia.com/gpumem")
	gpuPercentage = v1.ResourceName("nvidia.com/gpumem-percentage")
	gpuCores      = v1.ResourceName("nvidia.com/gpucores")

	registerKey  = "hami.io/node-nvidia-register"
	lockKey      = "hami.io/mutex.lock"
	vgpuNodeKey  = "hami.io/vgpu-node" // a label as well
	vgpuTimeKey  = "hami.io/vgpu-time"
	remainingKey = "hami.io/vgpu-devices-to-allocate"
	allocatedKey = "hami.io/vgpu-devices-allocated"
	phaseKey     = "hami.io/bind-phase"
	bindTimeKey  = "hami.io/bind-time"

	agentMark = "tessera.dev/agent" // of nodes whose plugin is ours
)

const (
	lockPause  = 100 * time.Millisecond // between two attempts to take the node's lock,
	lockPatch  = 28 * time.Second       // up to which the scheduler gives the pod up for now
	lockExpiry = 5 * time.Minute
)

var errLocked = errors.New("node lock contention")

// card is one GPU as the node's plugin has registered it.
type card struct {
	ID     string
	Index  int
	Count  int64
	Memory int64 `json:"devmem"`
	Cores  int64 `json:"devcore"`
	Health bool
}

// part is what a container has of one card.
type part struct {
	card          card
	memory, cores int64
}

func (p part) takes() room { return room{1, p.memory, p.cores} }

// room is what is taken of a card.
type room struct{ slots, memory, cores int64 }

func (r room) plus(more room) room {
	return room{r.slots + more.slots, r.memory + more.memory, r.cores + more.cores}
}

func (r room) most(other room) room {
	return room{max(r.slots, other.slots), max(r.memory, other.memory), max(r.cores, other.cores)}
}

// placement is what the scheduler chose for a pod.
type placement struct {
	parts     map[string][]part // by container
	taken     map[string]room   // of each card, as long as the pod lives
	allocated string            // as the annotation has it
}

// hami plays HAMi's scheduler, which is its binder as well: it chooses GPUs for pods that name it,
// writes into their annotations what they get of which, takes the node's lock and binds them. It
// waits for the lock as it does for pods of a group; others come back to it a second later. Any
// goroutine.
type hami struct {
	client  kubernetes.Interface
	cards   []card
	workers sync.WaitGroup
	locking sync.Mutex // HAMi's own of the node's lock

	namesGPUs bool // a variable does, where there is no CDI
	reads     bool // another scheduler chooses: what it wrote was chosen

	mutex    sync.Mutex
	pods     map[string]*v1.Pod          // by name, as the API server tells of them
	seen     map[types.UID]bool          // those that are or were scheduled
	placed   map[types.UID]placement     // what was chosen last for those
	reserved map[types.UID]bool          // which of them still take room
	failures map[string]int              // of attempts to bind, by what was said
	waited   map[types.UID]time.Duration // for the lock
	bound    map[types.UID]time.Time
	running  map[types.UID]time.Time
	holder   string        // whose lock it is, as the API server tells of the node
	kept     time.Duration // how long locks outlived the bindings of their pods, in all
}

// startHAMi has pods scheduled until the end of the test, once the plugin has registered its GPUs.
func (c *cluster) startHAMi(t *testing.T, count int) *hami {
	t.Helper()
	return c.startAs(t, count, false)
}

// startReading follows pods that another scheduler places.
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

// seeLock adds up how long locks stay once their pods are bound.
func (h *hami) seeLock(node *v1.Node) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	words := append(strings.Split(node.Annotations[lockKey], ","), "", "")
	if pod := h.pods[h.holder]; pod != nil && words[2] != h.holder && !h.bound[pod.UID].IsZero() {
		h.kept += time.Since(h.bound[pod.UID])
	}
	h.holder = words[2]
}

// takeKept says how long locks outlived bindings since it was last asked.
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

// now is the pod of that name, as far as it is known; nil where there is none.
func (h *hami) now(name string) *v1.Pod {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.pods[name]
}

// placementOf is what was chosen last for a pod, which is what it was bound by.
func (h *hami) placementOf(uid types.UID) placement {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.placed[uid]
}

// schedule tries until the pod is bound or gone.
func (h *hami) schedule(ctx context.Context, pod *v1.Pod) {
	for ctx.Err() == nil && h.waits(pod) {
		pause := lockPause // without room: until somebody ends
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

// waits says whether exactly this pod is still to be scheduled.
func (h *hami) waits(pod *v1.Pod) bool {
	now := h.now(pod.Name)
	return now != nil && now.UID == pod.UID && now.DeletionTimestamp == nil
}

// containersOf are a pod's containers in the order that HAMi counts them in.
func containersOf(pod *v1.Pod) []v1.Container {
	return slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
}

// choose reserves cards for a pod: for each container those of which the fewest have parts.
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
			continue // it ends before the next one begins
		}
		for _, one := range parts {
			beside[one.card.ID] = beside[one.card.ID].plus(one.takes())
		}
	}
	chosen.taken = h.takenBy(pod, chosen.parts)
	if now := h.pods[pod.Name]; now == nil || now.UID != pod.UID {
		return placement{}, false
	}
	chosen.allocated = encode(pod, chosen.parts, len(h.placed)%2 == 0)
	h.placed[pod.UID], h.reserved[pod.UID] = chosen, true
	return chosen, true
}

// fit finds as many cards as are asked for; nil where there are too few with room.
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

// encode says what was chosen as annotations have it. HAMi up to 2.9 holds the place of a container
// without a GPU, 2.10 leaves it out.
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

// bind writes what was chosen into the pod, takes the lock, and binds the pod to the node.
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

// asksInApps is what HAMi takes the lock for: a pod of which only an init container has GPUs goes
// without.
func asksInApps(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(one v1.Container) bool { return askedBy(one).count > 0 })
}

// annotate patches exactly this pod, not a later one of its name.
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

// lock takes the node's lock for a pod, from whoever is gone or has had it for too long as well.
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

// unlock gives back the lock if it is this pod's. Others write the node as well, its status above all.
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

// setLock writes the lock into the node that was read; who comes too late has to try again.
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
