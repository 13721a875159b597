// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/config"
	"k8s.io/kubernetes/pkg/kubelet/pluginmanager"
)

const (
	npu     = "dummy.com/npu"
	patient = 30 * time.Second // the time that Kubernetes' own node tests give a plugin
)

// pods are the pods bound to the node. They outlive kubelet. Any goroutine.
type pods struct {
	mutex sync.Mutex
	list  []*v1.Pod
}

func (p *pods) active() []*v1.Pod {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Clone(p.list)
}

func (p *pods) add(pod *v1.Pod) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !slices.Contains(p.list, pod) {
		p.list = append(p.list, pod)
	}
}

func (p *pods) remove(pod *v1.Pod) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.list = slices.DeleteFunc(p.list, func(other *v1.Pod) bool { return other == pod })
}

// sources says whether kubelet has seen all its pods since it started.
type sources struct{ ready bool }

func (s *sources) AddSource(string) {}
func (s *sources) AllReady() bool   { return s.ready }

// kubelet is the part of kubelet that a device plugin meets.
type kubelet struct {
	t       *testing.T
	pods    *pods
	sources *sources
	manager *devicemanager.ManagerImpl
	stops   []func()
	agent   *agent // the plugin, once it has been started
}

// startKubelet starts kubelet on an empty kubelet directory and ends it with the test.
func startKubelet(t *testing.T) *kubelet {
	t.Helper()
	showKubeletLogOnFailure(t)
	entries, err := os.ReadDir(kubeletRoot)
	must(t, err)
	for _, entry := range entries {
		must(t, os.RemoveAll(filepath.Join(kubeletRoot, entry.Name())))
	}
	k := &kubelet{t: t, pods: &pods{}}
	k.start()
	t.Cleanup(k.stop)
	return k
}

// start starts as kubelet does: the containers of its pods run already, and it has yet to see them.
func (k *kubelet) start() {
	k.t.Helper()
	manager, err := devicemanager.NewManagerImpl(nil, topologymanager.NewFakeManager())
	must(k.t, err)
	containers, running := containermap.NewContainerMap(), sets.New[string]()
	for _, pod := range k.pods.active() {
		for _, container := range pod.Spec.Containers {
			id := string(pod.UID) + "/" + container.Name
			containers.Add(string(pod.UID), container.Name, id)
			running.Insert(id)
		}
	}
	k.manager = manager
	k.sources = &sources{}
	must(k.t, manager.Start(klog.Background(), k.pods.active, k.sources, containers, running))
	for _, pod := range k.pods.active() {
		must(k.t, k.admit(pod))
	}
	k.sources.ready = true

	k.stops = append(k.stops, func() { must(k.t, manager.Stop(klog.Background())) },
		startPluginWatcher(k.t, manager, k.sources), startPodResources(k.t, manager, k.pods))
}

func (k *kubelet) stop() {
	for _, stop := range slices.Backward(k.stops) {
		stop()
	}
	k.stops = nil
}

func startPluginWatcher(t *testing.T, manager *devicemanager.ManagerImpl, s config.SourcesReady) func() {
	t.Helper()
	directory := filepath.Join(kubeletRoot, "plugins_registry")
	must(t, os.MkdirAll(directory, 0o750))
	plugins := pluginmanager.NewPluginManager(directory, &record.FakeRecorder{})
	plugins.AddHandler(registration.DevicePlugin, manager.GetWatcherHandler())
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		plugins.Run(context.Background(), s, stop)
	}()
	return func() {
		close(stop)
		<-stopped
	}
}

// admit gives a pod its devices, its init containers' first, or refuses it.
func (k *kubelet) admit(pod *v1.Pod) error {
	k.pods.add(pod)
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if err := k.manager.Allocate(pod, &container); err != nil {
			k.pods.remove(pod)
			return err
		}
	}
	return nil
}

// startContainer is what kubelet asks the plugin, and what it tells the runtime, at every start.
func (k *kubelet) startContainer(pod *v1.Pod, container v1.Container) (*devicemanager.DeviceRunContainerOptions, error) {
	return k.manager.GetDeviceRunContainerOptions(context.Background(), pod, &container)
}

// devices are the NPUs that kubelet gave a container, in kubelet's own books.
func (k *kubelet) devices(pod *v1.Pod, container string) []string {
	return byNumber(sets.KeySet(k.manager.GetDevices(string(pod.UID), container)[npu]).UnsortedList())
}

func (k *kubelet) counts() string {
	capacity, allocatable, _ := k.manager.GetCapacity()
	has, gives := capacity[npu], allocatable[npu]
	return fmt.Sprintf("%d of %d", gives.Value(), has.Value())
}

// waitFor waits until so many of so many NPUs are allocatable: "63 of 64".
func (k *kubelet) waitFor(counts string) {
	k.t.Helper()
	eventually(k.t, func() error {
		if k.agent != nil {
			k.agent.expectAlive()
		}
		if now := k.counts(); now != counts {
			return fmt.Errorf("%s allocatable, not %s", now, counts)
		}
		return nil
	})
}

// podOf makes a pod of one container that asks for so many NPUs.
func podOf(name string, count int64) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name + "-uid")},
		Spec:       v1.PodSpec{Containers: []v1.Container{containerOf("main", count)}},
	}
}

func containerOf(name string, count int64) v1.Container {
	limits := v1.ResourceList{npu: *resource.NewQuantity(count, resource.DecimalSI)}
	return v1.Container{Name: name, Resources: v1.ResourceRequirements{Limits: limits, Requests: limits}}
}
