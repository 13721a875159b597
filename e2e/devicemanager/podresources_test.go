// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubernetes/pkg/kubelet/apis/podresources"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
)

// startPodResources serves kubelet's pod-resources API at kubelet's own path.
func startPodResources(t *testing.T, manager *devicemanager.ManagerImpl, p *pods) func() {
	t.Helper()
	directory := filepath.Join(kubeletRoot, "pod-resources")
	must(t, os.MkdirAll(directory, 0o750))
	path := filepath.Join(directory, "kubelet.sock")
	os.Remove(path)
	listener, err := net.Listen("unix", path)
	must(t, err)
	server := grpc.NewServer(limitedRate())
	podresourcesv1.RegisterPodResourcesListerServer(server,
		podResourcesServer(podresources.PodResourcesProviders{
			Pods: p, Devices: deviceLister{manager}, Cpus: nothing{}, Memory: nothing{}, DynamicResources: nothing{},
		}))
	go server.Serve(listener)
	return server.Stop
}

func (p *pods) GetActivePods() []*v1.Pod { return p.active() }
func (p *pods) GetPods() []*v1.Pod       { return p.active() }
func (p *pods) GetPodByName(namespace, name string) (*v1.Pod, bool) {
	for _, pod := range p.active() {
		if pod.Namespace == namespace && pod.Name == name {
			return pod, true
		}
	}
	return nil, false
}

// deviceLister returns the device manager's allocations in the format of the API: one entry for
// each device and NUMA node.
type deviceLister struct{ *devicemanager.ManagerImpl }

func (d deviceLister) GetDevices(podUID, container string) []*podresourcesv1.ContainerDevices {
	return entries(d.ManagerImpl.GetDevices(podUID, container))
}

func (d deviceLister) GetAllocatableDevices() []*podresourcesv1.ContainerDevices {
	return entries(d.ManagerImpl.GetAllocatableDevices())
}

func entries(instances devicemanager.ResourceDeviceInstances) []*podresourcesv1.ContainerDevices {
	var list []*podresourcesv1.ContainerDevices
	for name, devices := range instances {
		for id, device := range devices {
			entry := func() *podresourcesv1.ContainerDevices {
				return &podresourcesv1.ContainerDevices{ResourceName: name, DeviceIds: []string{id}}
			}
			if device.GetTopology() == nil {
				list = append(list, entry())
			}
			for _, node := range device.GetTopology().GetNodes() {
				near := entry()
				near.Topology = &podresourcesv1.TopologyInfo{Nodes: []*podresourcesv1.NUMANode{{ID: node.ID}}}
				list = append(list, near)
			}
		}
	}
	return list
}

// nothing stands in for the rest of a node, which these tests do not use.
type nothing struct{}

func (nothing) GetCPUs(string, string) []int64                             { return nil }
func (nothing) GetAllocatableCPUs() []int64                                { return nil }
func (nothing) GetMemory(string, string) []*podresourcesv1.ContainerMemory { return nil }
func (nothing) GetAllocatableMemory() []*podresourcesv1.ContainerMemory    { return nil }
func (nothing) GetDynamicResources(*v1.Pod, *v1.Container) []*podresourcesv1.DynamicResource {
	return nil
}
