// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/container"
)

// pods are the pods bound to the node. They outlive kubelet. Any goroutine may use them.
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

// podOf makes a pod of one container that asks for this many NPUs.
func podOf(name string, count int64) *v1.Pod {
	return podWith(name, containerOf("main", count))
}

func podWith(name string, main v1.Container) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name + "-uid")},
		Spec:       v1.PodSpec{Containers: []v1.Container{main}},
	}
}

func containerOf(name string, count int64) v1.Container {
	return containerAsking(name, map[v1.ResourceName]int64{npu: count})
}

// sidecarOf makes an init container that runs as long as its pod.
func sidecarOf(name string, count int64) v1.Container {
	always := v1.ContainerRestartPolicyAlways
	container := containerOf(name, count)
	container.RestartPolicy = &always
	return container
}

// runningOf returns the containers that run as long as the pod: sidecars and app containers.
func runningOf(pod *v1.Pod) []v1.Container {
	var all []v1.Container
	for _, container := range pod.Spec.InitContainers {
		if container.RestartPolicy != nil {
			all = append(all, container)
		}
	}
	return append(all, pod.Spec.Containers...)
}

// containerAsking makes a container that asks for these counts of resources.
func containerAsking(name string, counts map[v1.ResourceName]int64) v1.Container {
	limits := v1.ResourceList{}
	for resourceName, count := range counts {
		limits[resourceName] = *resource.NewQuantity(count, resource.DecimalSI)
	}
	return v1.Container{Name: name, Resources: v1.ResourceRequirements{Limits: limits, Requests: limits}}
}

// visible returns the whole grant of a container with these NPUs.
func visible(ids ...string) *devicemanager.DeviceRunContainerOptions {
	return &devicemanager.DeviceRunContainerOptions{
		Envs: []container.EnvVar{{Name: "DUMMY_VISIBLE_DEVICES", Value: strings.Join(ids, ",")}},
	}
}

// expectStarts starts a pod's main container and checks its grant against kubelet's accounting. It
// returns the ids.
func expectStarts(t *testing.T, k *kubelet, pod *v1.Pod, count int) []string {
	t.Helper()
	main := pod.Spec.Containers[0]
	ids := k.devices(pod, main.Name)
	equal(t, "number of devices", len(ids), count)
	options, err := k.startContainer(pod, main)
	must(t, err)
	equal(t, "what the container gets", options, visible(ids...))
	return ids
}

// startPod admits a pod and starts its main container. It returns the pod and its ids.
func startPod(t *testing.T, k *kubelet, name string, count int) (*v1.Pod, []string) {
	t.Helper()
	pod := podOf(name, int64(count))
	must(t, k.admit(pod))
	return pod, expectStarts(t, k, pod, count)
}
