// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"tessera/e2e/nvidia"
)

// formerPlugin plays HAMi's plugin of the node for pods of one container: it finds out by the node's
// lock whose turn it is, and answers with all that the container gets.
type formerPlugin struct {
	plugin.UnimplementedDevicePluginServer
	hami   *hami // whose scheduler it takes the lock from
	ids    []string
	server *grpc.Server
	end    chan struct{}
}

// startFormer registers the plugin with the scheduler and with kubelet.
func (c *cluster) startFormer(t *testing.T, driver *nvidia.Driver) *formerPlugin {
	t.Helper()
	f := &formerPlugin{}
	c.registerFormer(t, driver)
	f.hami = c.startHAMi(t, len(driver.UUIDs()))
	for _, id := range driver.UUIDs() {
		for n := range 10 {
			f.ids = append(f.ids, fmt.Sprintf("%s-%d", id, n))
		}
	}
	f.serve(t, c)
	return f
}

// registerFormer tells the scheduler of the GPUs as HAMi's plugin does.
func (c *cluster) registerFormer(t *testing.T, driver *nvidia.Driver) {
	t.Helper()
	var cards []map[string]any
	for index, id := range driver.UUIDs() {
		cards = append(cards, map[string]any{"id": id, "index": index, "count": 10, "devmem": 81920, "devcore": 100,
			"type": "NVIDIA A100-SXM4-80GB", "mode": "hami-core", "health": true})
	}
	registered, err := json.Marshal(cards)
	must(t, err)
	c.changeNode(t, "annotations", map[string]any{registerKey: string(registered)})
	t.Cleanup(func() { c.changeNode(t, "annotations", map[string]any{registerKey: nil, lockKey: nil}) })
}

// serve is one start of the plugin's process.
func (f *formerPlugin) serve(t *testing.T, c *cluster) {
	t.Helper()
	f.server, f.end = grpc.NewServer(), make(chan struct{})
	const socket = "nvidia-gpu.sock"
	path := filepath.Join(plugin.DevicePluginPath, socket)
	listener, err := net.Listen("unix", path)
	must(t, err)
	plugin.RegisterDevicePluginServer(f.server, f)
	go f.server.Serve(listener)
	t.Cleanup(f.stop)
	connection, err := grpc.NewClient("unix://"+plugin.KubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	defer connection.Close()
	_, err = plugin.NewRegistrationClient(connection).Register(t.Context(), &plugin.RegisterRequest{
		Version: plugin.Version, Endpoint: socket, ResourceName: string(gpu)})
	must(t, err)
	c.waitForResource(t, gpu, fmt.Sprintf("%[1]d of %[1]d", len(f.ids)))
}

// stop is the end of the plugin's process.
func (f *formerPlugin) stop() {
	select {
	case <-f.end:
	default:
		close(f.end)
		f.server.Stop()
	}
}

func (f *formerPlugin) GetDevicePluginOptions(context.Context, *plugin.Empty) (*plugin.DevicePluginOptions, error) {
	return &plugin.DevicePluginOptions{}, nil
}

func (f *formerPlugin) ListAndWatch(_ *plugin.Empty, stream plugin.DevicePlugin_ListAndWatchServer) error {
	list := &plugin.ListAndWatchResponse{}
	for _, id := range f.ids {
		list.Devices = append(list.Devices, &plugin.Device{ID: id, Health: plugin.Healthy})
	}
	if err := stream.Send(list); err != nil {
		return err
	}
	<-f.end
	return nil
}

func (f *formerPlugin) Allocate(ctx context.Context, _ *plugin.AllocateRequest) (*plugin.AllocateResponse, error) {
	node, err := f.hami.client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	words := strings.Split(node.Annotations[lockKey], ",")
	if len(words) != 3 {
		return nil, errors.New("no binding pod found on node " + nodeName)
	}
	pod, err := f.hami.client.CoreV1().Pods(words[1]).Get(ctx, words[2], metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	answer := &plugin.ContainerAllocateResponse{Envs: map[string]string{}}
	var ids []string
	name := pod.Spec.Containers[0].Name
	for n, one := range f.hami.placementOf(pod.UID).parts[name] {
		ids = append(ids, one.card.ID)
		answer.Envs[fmt.Sprintf("CUDA_DEVICE_MEMORY_LIMIT_%d", n)] = fmt.Sprintf("%dm", one.memory)
		answer.Envs["CUDA_DEVICE_SM_LIMIT"] = fmt.Sprint(one.cores)
		answer.Envs[fmt.Sprintf("CUDA_DEVICE_SM_LIMIT_%d", n)] = fmt.Sprint(one.cores)
		answer.Envs["GPU_CORE_UTILIZATION_POLICY"] = "default"
		answer.Envs["CUDA_TASK_PRIORITY"] = "1"
	}
	answer.Envs["NVIDIA_VISIBLE_DEVICES"] = strings.Join(ids, ",")
	answer.Envs["CUDA_DEVICE_MEMORY_SHARED_CACHE"] = fmt.Sprintf("%s/%s.cache", hookDirectory, pod.UID)
	own := fmt.Sprintf("%s/containers/%s_%s", hookDirectory, pod.UID, name)
	preload := hookDirectory + "/ld.so.preload"
	if err := errors.Join(os.MkdirAll(own, 0o777), os.Chmod(own, 0o777),
		os.WriteFile(preload, []byte(hookLibrary+"\n"), 0o644)); err != nil {
		return nil, err
	}
	answer.Mounts = []*plugin.Mount{
		{ContainerPath: hookLibrary, HostPath: hookLibrary, ReadOnly: true},
		{ContainerPath: hookDirectory, HostPath: own},
		{ContainerPath: hookLock, HostPath: hookLock},
		{ContainerPath: "/etc/ld.so.preload", HostPath: preload, ReadOnly: true},
	}
	err = errors.Join(f.hami.annotate(ctx, pod, map[string]any{remainingKey: ";", phaseKey: "success"}),
		f.hami.unlock(ctx, pod))
	return &plugin.AllocateResponse{ContainerResponses: []*plugin.ContainerAllocateResponse{answer}}, err
}

func TestPodsOfAHAMiPluginAreLeftAsTheyAreWhenTheAgentTakesItsPlace(t *testing.T) {
	c := theCluster(t)
	c.configureKubelet(t, "crashLoopBackOff: {maxContainerRestartPeriod: 1s}\n")
	driver := makeGPUs(t)
	former := c.startFormer(t, driver)
	t.Cleanup(func() { must(t, c.removePods(context.Background())) })
	// What HAMi's plugin kept of its containers is none of the agent's.
	t.Cleanup(func() { must(t, os.RemoveAll(hookDirectory)) })
	var running, crashing []*v1.Pod
	for n := range 4 {
		size := asked{count: 1, memory: 1000 + int64(n), cores: 1 + int64(n)}
		running = append(running, c.createAsking(t,
			podAsking(fmt.Sprintf("running-%d", n), containerAsking("main", size, stay))))
		crashing = append(crashing, c.createAsking(t,
			podAsking(fmt.Sprintf("crashing-%d", n), containerAsking("main", size, "sleep 1; exit 1"))))
	}
	before := map[types.UID]string{}
	for _, pod := range slices.Concat(running, crashing) {
		before[pod.UID] = waitForSaid(t, pod.UID, "main", 1)[0]
	}
	for n, pod := range running {
		running[n] = c.waitForPhase(t, pod.Name, v1.PodRunning)
	}

	former.stop()
	c.installRequested(t, "")

	h := former.hami
	for n := range 4 {
		size := asked{count: 1, memory: 5000 + int64(n), cores: 11 + int64(n)}
		pod := c.createAsking(t, podAsking(fmt.Sprintf("new-%d", n), containerAsking("main", size, stay)))
		h.expectSaid(t, pod.UID, "main", 1)
	}
	for _, pod := range running {
		equal(t, "a running pod", lifeOf(c.pod(t, pod.Name)), lifeOf(pod))
	}
	for _, pod := range crashing {
		so := waitForSaid(t, pod.UID, "main", 0)
		for _, text := range waitForSaid(t, pod.UID, "main", len(so)+2) {
			equal(t, "what a crashing pod finds", text, before[pod.UID])
		}
	}
}
