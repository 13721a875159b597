// SPDX-License-Identifier: Apache-2.0

//go:build kubernetes1.30 || kubernetes1.33

package devicemanager

import (
	"strings"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubernetes/pkg/features"
	kubeletgrpc "k8s.io/kubernetes/pkg/kubelet/apis/grpc"
	"k8s.io/kubernetes/pkg/kubelet/apis/podresources"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/config"
	"k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/pluginmanager"
)

// These calls of Kubernetes 1.30 and 1.33 take other arguments in 1.36; see calls_test.go.

// The call for one pod exists in these versions, but is off by default until 1.34.
func init() {
	gate := map[string]bool{string(features.KubeletPodResourcesGet): true}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(gate); err != nil {
		panic(err)
	}
}

func addHintProvider(topology topologymanager.Manager, provider topologymanager.HintProvider) {
	topology.AddHintProvider(provider)
}

func startDevices(manager *devicemanager.ManagerImpl, pods func() []*v1.Pod, s config.SourcesReady,
	containers containermap.ContainerMap, running sets.Set[string]) error {
	return manager.Start(pods, s, containers, running)
}

func stopDevices(manager *devicemanager.ManagerImpl) error { return manager.Stop() }

func runPluginWatcher(plugins pluginmanager.PluginManager, s config.SourcesReady, stop <-chan struct{}) {
	plugins.Run(s, stop)
}

// containerOptions leaves out the annotation in which kubelet up to 1.30 repeats the CDI names.
func containerOptions(manager *devicemanager.ManagerImpl, pod *v1.Pod,
	main *v1.Container) (*devicemanager.DeviceRunContainerOptions, error) {
	options, err := manager.GetDeviceRunContainerOptions(pod, main)
	if options == nil {
		return nil, err
	}
	var ours []container.Annotation
	for _, annotation := range options.Annotations {
		if !strings.HasPrefix(annotation.Name, "cdi.k8s.io/devicemanager_") {
			ours = append(ours, annotation)
		}
	}
	options.Annotations = ours
	return options, err
}

func limitedRate() grpc.ServerOption {
	return kubeletgrpc.WithRateLimiter("podresources", podresources.DefaultQPS, podresources.DefaultBurstTokens)
}

func podResourcesServer(providers podresources.PodResourcesProviders) podresourcesv1.PodResourcesListerServer {
	return podresources.NewV1PodResourcesServer(providers)
}
