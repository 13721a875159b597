// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	cadvisor "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/record"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/config"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/kubelet/pluginmanager"
)

const (
	npu     = "dummy.com/npu"
	patient = 2 * time.Minute // the limit for steps that take seconds on an idle machine
)

// sources says whether kubelet has seen all its pods since it started.
type sources struct{ ready bool }

func (s *sources) AddSource(string) {}
func (s *sources) AllReady() bool   { return s.ready }

// kubelet is the part of Kubernetes' kubelet that a device plugin meets, on a machine of two NUMA
// nodes.
type kubelet struct {
	t        *testing.T
	policy   string // of the topology manager
	pods     *pods
	sources  *sources
	topology topologymanager.Manager
	manager  *devicemanager.ManagerImpl
	stops    []func()
	agents   []*agent // the plugin's processes
}

// startKubelet starts kubelet on an empty directory. The test's end stops it.
func startKubelet(t *testing.T) *kubelet {
	t.Helper()
	return startKubeletWith(t, topologymanager.PolicyNone)
}

// startKubeletWith starts kubelet with a policy of the topology manager.
func startKubeletWith(t *testing.T, policy string) *kubelet {
	t.Helper()
	k := newKubelet(t, policy)
	k.start()
	return k
}

// newKubelet empties kubelet's directory, and makes a kubelet that does not run yet.
func newKubelet(t *testing.T, policy string) *kubelet {
	t.Helper()
	showKubeletLogOnFailure(t)
	entries, err := os.ReadDir(kubeletRoot)
	must(t, err)
	for _, entry := range entries {
		must(t, os.RemoveAll(filepath.Join(kubeletRoot, entry.Name())))
	}
	k := &kubelet{t: t, policy: policy, pods: &pods{}}
	t.Cleanup(k.stop)
	return k
}

// start starts like kubelet after a restart: the containers of its pods run already, and it has yet
// to see the pods.
func (k *kubelet) start() {
	k.t.Helper()
	machine := []cadvisor.Node{{Id: 0}, {Id: 1}}
	topology, err := topologymanager.NewManager(machine, k.policy, kubeletconfig.ContainerTopologyManagerScope, nil)
	must(k.t, err)
	manager, err := devicemanager.NewManagerImpl(machine, topology)
	must(k.t, err)
	addHintProvider(topology, manager)
	containers, running := containermap.NewContainerMap(), sets.New[string]()
	for _, pod := range k.pods.active() {
		for _, container := range runningOf(pod) {
			id := string(pod.UID) + "/" + container.Name
			containers.Add(string(pod.UID), container.Name, id)
			running.Insert(id)
		}
	}
	k.topology, k.manager = topology, manager
	k.sources = &sources{}
	must(k.t, startDevices(manager, k.pods.active, k.sources, containers, running))
	for _, pod := range k.pods.active() {
		must(k.t, k.admit(pod))
	}
	k.sources.ready = true

	k.stops = append(k.stops, func() { must(k.t, stopDevices(manager)) },
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
		runPluginWatcher(plugins, s, stop)
	}()
	return func() {
		close(stop)
		<-stopped
	}
}

// admit allocates devices for a pod, first for its init containers. A refusal has the text of the
// pod's status: "REASON: MESSAGE".
func (k *kubelet) admit(pod *v1.Pod) error {
	k.pods.add(pod)
	result := k.topology.Admit(&lifecycle.PodAdmitAttributes{Pod: pod})
	if !result.Admit {
		k.pods.remove(pod)
		return fmt.Errorf("%s: %s", result.Reason, result.Message)
	}
	return nil
}

// startContainer asks the plugin as kubelet does at every start, and returns what kubelet passes to
// the runtime.
func (k *kubelet) startContainer(pod *v1.Pod, container v1.Container) (*devicemanager.DeviceRunContainerOptions, error) {
	return containerOptions(k.manager, pod, &container)
}

// devices returns a container's NPUs in kubelet's accounting.
func (k *kubelet) devices(pod *v1.Pod, container string) []string {
	return byNumber(k.devicesOf(npu, pod, container))
}

// devicesOf returns a container's ids of any resource, sorted as texts.
func (k *kubelet) devicesOf(resource string, pod *v1.Pod, container string) []string {
	return sets.List(sets.KeySet(k.manager.GetDevices(string(pod.UID), container)[resource]))
}

// waitFor waits until these counts of NPUs are allocatable: "63 of 64".
func (k *kubelet) waitFor(counts string) {
	k.t.Helper()
	k.waitForResource(npu, counts)
}

func (k *kubelet) waitForResource(name v1.ResourceName, counts string) {
	k.t.Helper()
	eventually(k.t, func() error {
		for _, agent := range k.agents {
			agent.expectAlive()
		}
		capacity, allocatable, _ := k.manager.GetCapacity()
		has, gives := capacity[name], allocatable[name]
		if now := fmt.Sprintf("%d of %d", gives.Value(), has.Value()); now != counts {
			return fmt.Errorf("%s of %s allocatable, not %s", now, name, counts)
		}
		return nil
	})
}

// waitForLog waits until kubelet's log has the text this often since the test began.
func (k *kubelet) waitForLog(text string, times int) {
	k.t.Helper()
	eventually(k.t, func() error {
		if so := kubeletLog.count(text); so < times {
			return fmt.Errorf("kubelet said %q %d times, not %d", text, so, times)
		}
		return nil
	})
}

// waitForRegistrations waits until kubelet has connected to a plugin this often. By then it knows
// the plugin's options.
func (k *kubelet) waitForRegistrations(times int) {
	k.t.Helper()
	k.waitForLog(connected, times)
}

// waitForOneStream waits until kubelet has noticed the end of every stream but the last. If it
// notices late, it hangs up on the agent's newer registration as well, and the agent registers once
// more. For kubelets with one resource.
func (k *kubelet) waitForOneStream() {
	k.t.Helper()
	eventually(k.t, func() error {
		begun, ended := kubeletLog.count(connected), kubeletLog.count("Device plugin disconnected")
		if begun != ended+1 {
			return fmt.Errorf("%d streams of %d have ended", ended, begun)
		}
		return nil
	})
}

const (
	connected = "Connected to new client"
	listCame  = "State pushed for device plugin"
)

// lists returns how many device lists kubelet has received.
func (k *kubelet) lists() int { return kubeletLog.count(listCame) }

func (k *kubelet) waitForLists(count int) {
	k.t.Helper()
	k.waitForLog(listCame, count)
}
