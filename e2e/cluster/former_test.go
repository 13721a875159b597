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
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"tessera/e2e/nvidia"
)

// formerPlugin is a fake of HAMi's device plugin. It takes the pod from the node's lock and answers
// with the whole grant of that pod's next container. With the last container it releases the lock.
type formerPlugin struct {
	plugin.UnimplementedDevicePluginServer
	hami    *hami // the fake whose lock and placements it uses
	ids     []string
	server  *grpc.Server
	end     chan struct{}
	serving sync.Mutex // held during Allocate: one container at a time
}

// startFormer registers the GPUs for the scheduler, and the plugin at kubelet.
func (c *cluster) startFormer(t *testing.T, driver *nvidia.Driver) *formerPlugin {
	t.Helper()
	return c.startFormerFor(t, driver, c.startHAMi)
}

// startFormerFor does the same with any scheduler, which it starts after the GPUs are registered.
func (c *cluster) startFormerFor(t *testing.T, driver *nvidia.Driver, start func(*testing.T, int) *hami) *formerPlugin {
	t.Helper()
	f := &formerPlugin{}
	c.registerFormer(t, driver)
	f.hami = start(t, len(driver.UUIDs()))
	for _, id := range driver.UUIDs() {
		for n := range 10 {
			f.ids = append(f.ids, fmt.Sprintf("%s-%d", id, n))
		}
	}
	f.serve(t, c)
	return f
}

// registerFormer writes the node annotation by which HAMi's plugin registers its GPUs, and removes
// the agent's mark from the node.
func (c *cluster) registerFormer(t *testing.T, driver *nvidia.Driver) {
	t.Helper()
	var cards []map[string]any
	for index, id := range driver.UUIDs() {
		cards = append(cards, map[string]any{"id": id, "index": index, "count": 10, "devmem": 81920, "devcore": 100,
			"type": "NVIDIA A100-SXM4-80GB", "mode": "hami-core", "health": true})
	}
	registered, err := json.Marshal(cards)
	must(t, err)
	c.changeNode(t, "annotations", map[string]any{registerKey: string(registered), agentMark: nil})
	t.Cleanup(func() { c.changeNode(t, "annotations", map[string]any{registerKey: nil, lockKey: nil}) })
}

// serve simulates a start of the plugin's process.
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

// stop simulates the end of the plugin's process.
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

func (f *formerPlugin) Allocate(ctx context.Context, request *plugin.AllocateRequest) (*plugin.AllocateResponse, error) {
	f.serving.Lock()
	defer f.serving.Unlock()
	pod, err := f.lockOwner(ctx)
	if err != nil {
		return nil, err
	}
	answer, left, err := f.answer(pod, len(request.ContainerRequests[0].DevicesIds))
	if err != nil {
		return nil, errors.Join(err, f.hami.annotate(ctx, pod, map[string]any{phaseKey: "failed"}), f.hami.unlock(ctx, pod))
	}
	said := map[string]any{remainingKey: left}
	last := strings.Trim(left, ";") == ""
	if last {
		said[phaseKey] = "success"
	}
	err = f.hami.annotate(ctx, pod, said)
	if last {
		err = errors.Join(err, f.hami.unlock(ctx, pod))
	}
	return &plugin.AllocateResponse{ContainerResponses: []*plugin.ContainerAllocateResponse{answer}}, err
}

func (f *formerPlugin) lockOwner(ctx context.Context) (*v1.Pod, error) {
	node, err := f.hami.client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	words := strings.Split(node.Annotations[lockKey], ",")
	if len(words) != 3 {
		return nil, errors.New("no binding pod found on node " + nodeName)
	}
	return f.hami.client.CoreV1().Pods(words[1]).Get(ctx, words[2], metav1.GetOptions{})
}

// answer returns the grant of the pod's next container, and the annotation that remains for the
// others. Its count is the number of devices that kubelet chose.
func (f *formerPlugin) answer(pod *v1.Pod, count int) (*plugin.ContainerAllocateResponse, string, error) {
	chosen, err := f.hami.decode(pod)
	if err != nil {
		return nil, "", err
	}
	asking := containersOf(pod)
	asking = slices.DeleteFunc(asking, func(one v1.Container) bool { return askedBy(one).count == 0 })
	entries := strings.Split(pod.Annotations[remainingKey], ";")
	left := 0
	for _, entry := range entries {
		if entry != "" {
			left++
		}
	}
	if left == 0 || left > len(asking) {
		return nil, "", fmt.Errorf("%q is left for %d containers", pod.Annotations[remainingKey], len(asking))
	}
	name := asking[len(asking)-left].Name
	if len(chosen.parts[name]) != count {
		return nil, "", errors.New("device number not matched")
	}
	entries[slices.IndexFunc(entries, func(entry string) bool { return entry != "" })] = ""
	answer, err := answerWith(fmt.Sprintf("%s_%s", pod.UID, name), byIndex(chosen.parts[name]))
	return answer, strings.Join(entries, ";"), err
}

// answerWith returns kubelet's answer that grants a container these parts, in the format of HAMi's
// plugin.
func answerWith(container string, parts []part) (*plugin.ContainerAllocateResponse, error) {
	answer := &plugin.ContainerAllocateResponse{Envs: map[string]string{
		"CUDA_DEVICE_SM_LIMIT": fmt.Sprint(parts[0].cores), "GPU_CORE_UTILIZATION_POLICY": "default",
		"CUDA_TASK_PRIORITY":              "1",
		"CUDA_DEVICE_MEMORY_SHARED_CACHE": fmt.Sprintf("%s/%s.cache", hookDirectory, uuid.NewUUID())}}
	var ids []string
	for n, one := range parts {
		ids = append(ids, one.card.ID)
		answer.Envs[fmt.Sprintf("CUDA_DEVICE_MEMORY_LIMIT_%d", n)] = fmt.Sprintf("%dm", one.memory)
		answer.Envs[fmt.Sprintf("CUDA_DEVICE_SM_LIMIT_%d", n)] = fmt.Sprint(one.cores)
		device := fmt.Sprintf("/dev/nvidia%d", one.card.Index)
		answer.Devices = append(answer.Devices,
			&plugin.DeviceSpec{ContainerPath: device, HostPath: nvidiaRoot + device, Permissions: "rw"})
	}
	answer.Envs["NVIDIA_VISIBLE_DEVICES"] = strings.Join(ids, ",")
	own, preload := hookDirectory+"/containers/"+container, hookDirectory+"/ld.so.preload"
	answer.Mounts = []*plugin.Mount{
		{ContainerPath: hookLibrary, HostPath: hookLibrary, ReadOnly: true},
		{ContainerPath: hookDirectory, HostPath: own},
		{ContainerPath: hookLock, HostPath: hookLock},
		{ContainerPath: "/etc/ld.so.preload", HostPath: preload, ReadOnly: true},
	}
	return answer, errors.Join(os.MkdirAll(own, 0o777), os.Chmod(own, 0o777),
		os.WriteFile(preload, []byte(hookLibrary+"\n"), 0o644))
}

// HAMi's plugin finds its pod only by the node's lock. So the scheduler must take the lock for each
// pod. No pod may get it before all containers of the previous pod have their GPUs.
func TestEachContainerOfBurstsOfPodsHasWhatTheSchedulerChoseForItWhereTheNodesPluginIsHAMis(t *testing.T) {
	c := theCluster(t)
	c.configureKubelet(t, "crashLoopBackOff: {maxContainerRestartPeriod: 1s}\n")
	h := c.startFormerFor(t, makeGPUs(t), c.startScheduler).hami
	h.namesGPUs = true
	t.Cleanup(func() { must(t, c.removePods(context.Background())) })
	b, pods := c.newBurstsWith(t, h, 15, 30)

	must(t, b.run(t.Context(), pods))

	b.expectNoneWrong(t, "bursts of pods that tessera-scheduler places on a node of HAMi's plugin")
	last := c.createAsking(t, podAsking("last", containerAsking("main", modest, stay)))
	h.expectSaid(t, last.UID, "main", 1)
	c.waitForUnlocked(t)
}
