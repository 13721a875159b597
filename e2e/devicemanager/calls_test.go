// SPDX-License-Identifier: Apache-2.0

//go:build !kubernetes1.30 && !kubernetes1.33

package devicemanager

import (
	"context"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"
	kubeletgrpc "k8s.io/kubernetes/pkg/kubelet/apis/grpc"
	"k8s.io/kubernetes/pkg/kubelet/apis/podresources"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/config"
	"k8s.io/kubernetes/pkg/kubelet/pluginmanager"
)

// These calls of Kubernetes 1.36 take other arguments in the versions of e2e/matrix.

func addHintProvider(topology topologymanager.Manager, provider topologymanager.HintProvider) {
	topology.AddHintProvider(klog.Background(), provider)
}

func startDevices(manager *devicemanager.ManagerImpl, pods func() []*v1.Pod, s config.SourcesReady,
	containers containermap.ContainerMap, running sets.Set[string]) error {
	return manager.Start(klog.Background(), pods, s, containers, running)
}

func stopDevices(manager *devicemanager.ManagerImpl) error { return manager.Stop(klog.Background()) }

func runPluginWatcher(plugins pluginmanager.PluginManager, s config.SourcesReady, stop <-chan struct{}) {
	plugins.Run(context.Background(), s, stop)
}

func containerOptions(manager *devicemanager.ManagerImpl, pod *v1.Pod,
	container *v1.Container) (*devicemanager.DeviceRunContainerOptions, error) {
	return manager.GetDeviceRunContainerOptions(context.Background(), pod, container)
}

func limitedRate() grpc.ServerOption {
	return kubeletgrpc.WithRateLimiter(context.Background(), "podresources",
		podresources.DefaultQPS, podresources.DefaultBurstTokens)
}

func podResourcesServer(providers podresources.PodResourcesProviders) podresourcesv1.PodResourcesListerServer {
	return podresources.NewV1PodResourcesServer(context.Background(), providers)
}
