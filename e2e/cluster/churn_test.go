// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"
)

const (
	heldDirectory = "/var/lib/e2e-held" // one file for each pod that holds devices
	churners      = 6                   // pods at a time
	churnCount    = 4                   // devices of each pod
)

// These scripts record a container's devices and the start and stop of its holding, in seconds
// since boot.
const (
	writeStart = `read now idle < /proc/uptime; echo "$DUMMY_VISIBLE_DEVICES $now" > /held/$HOSTNAME; `
	writeStop  = `read now idle < /proc/uptime; echo "$now" >> /held/$HOSTNAME`
)

func holderOf(name string, count int64, script string) *v1.Pod {
	pod := podOf(name, count, script)
	kind := v1.HostPathDirectoryOrCreate
	pod.Spec.Volumes = []v1.Volume{{Name: "held", VolumeSource: v1.VolumeSource{
		HostPath: &v1.HostPathVolumeSource{Path: heldDirectory, Type: &kind}}}}
	pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "held", MountPath: "/held"}}
	return pod
}

// churn creates and deletes pods continuously. Its counts are final once stop has returned.
type churn struct {
	cluster *cluster
	mutex   sync.Mutex
	waiting map[string]chan *v1.Pod // by pod name: receives the pod when it has ended
	passed  int                     // pods that succeeded
	refused []string                // kubelet's messages to the pods that it refused
	failed  []error                 // any other outcome
}

// startChurn creates pods until the caller calls stop, which waits for the last ones.
func (c *cluster) startChurn(ctx context.Context) (churning *churn, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	u := &churn{cluster: c, waiting: map[string]chan *v1.Pod{}}
	source := cache.NewListWatchFromClient(c.client.CoreV1().RESTClient(), "pods",
		metav1.NamespaceDefault, fields.Everything())
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source,
		ObjectType:    &v1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { u.see(object.(*v1.Pod)) },
			UpdateFunc: func(_, object any) { u.see(object.(*v1.Pod)) },
		},
	})
	watching, unwatch := context.WithCancel(context.Background())
	var workers, watcher sync.WaitGroup
	watcher.Go(func() { informer.RunWithContext(watching) })
	for worker := range churners {
		workers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				u.runOne(fmt.Sprintf("churn-%d-%d", worker, n))
			}
		})
	}
	return u, func() {
		cancel()
		workers.Wait()
		unwatch()
		watcher.Wait()
	}
}

// see passes a pod that has ended to its waiter. Any goroutine may call it.
func (u *churn) see(pod *v1.Pod) {
	if pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed {
		return
	}
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if waiting := u.waiting[pod.Name]; waiting != nil {
		delete(u.waiting, pod.Name)
		waiting <- pod
	}
}

// runOne creates a pod, waits for its end, deletes it and counts its outcome. Any goroutine may
// call it.
func (u *churn) runOne(name string) {
	// The waiter is registered first: the pod may end before Create returns.
	ended := make(chan *v1.Pod, 1)
	u.mutex.Lock()
	u.waiting[name] = ended
	u.mutex.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 5*patient) // several pods at once
	defer cancel()
	pod := holderOf(name, churnCount, writeStart+writeStop)
	_, err := u.cluster.pods().Create(ctx, pod, metav1.CreateOptions{})
	if err == nil {
		select {
		case pod = <-ended:
		case <-ctx.Done():
			pod, err = nil, fmt.Errorf("pod %s does not end", name)
		}
	}
	if err == nil {
		err = u.cluster.pods().Delete(ctx, name, metav1.DeleteOptions{})
	}
	u.mutex.Lock()
	defer u.mutex.Unlock()
	switch {
	case err != nil:
		u.failed = append(u.failed, err)
	case pod.Status.Phase == v1.PodSucceeded:
		u.passed++
	case pod.Status.Reason == "UnexpectedAdmissionError":
		u.refused = append(u.refused, pod.Status.Message)
	default:
		u.failed = append(u.failed, fmt.Errorf("pod %s: %s", name, describe(pod)))
	}
}

// span is the time during which a pod held a device, in seconds since boot.
type span struct {
	pod         string
	start, stop float64
}

// readHeld reads the records of all containers: for each device its spans, the earliest first.
func readHeld(t *testing.T) map[string][]span {
	t.Helper()
	const never = 1e12 // the stop of a container that still runs
	paths, err := filepath.Glob(heldDirectory + "/*")
	must(t, err)
	held := map[string][]span{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		must(t, err)
		var ids string
		one := span{pod: filepath.Base(path), stop: never}
		if n, err := fmt.Sscan(string(content), &ids, &one.start, &one.stop); n < 2 {
			t.Fatalf("%s wrote %q: %v", one.pod, content, err)
		}
		for _, id := range strings.Split(ids, ",") {
			held[id] = append(held[id], one)
		}
	}
	for _, spans := range held {
		slices.SortFunc(spans, func(a, b span) int {
			return int(1000*a.start) - int(1000*b.start)
		})
	}
	return held
}

// doubleGrants returns the devices that two containers held at the same time.
func doubleGrants(held map[string][]span) (found []string) {
	for id, spans := range held {
		for n := 1; n < len(spans); n++ {
			if before, after := spans[n-1], spans[n]; after.start < before.stop {
				found = append(found, fmt.Sprintf("device %s: %+v and %+v", id, before, after))
			}
		}
	}
	return found
}
