// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const pluginsDirectory = "/usr/lib/cni" // of the package containernetworking-plugins

const containerdConfiguration = `version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
oom_score = 0
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  enable_cdi = true
  cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["` + pluginsDirectory + `"]
    conf_dir = "/e2e/cni"
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    base_runtime_spec = "/e2e/container.json"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      SystemdCgroup = false
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "` + pauseImage + `"
`

const networkConfiguration = `{
  "cniVersion": "1.0.0",
  "name": "e2e",
  "plugins": [{
    "type": "bridge", "bridge": "cni0", "isGateway": true,
    "ipam": {"type": "host-local", "ranges": [[{"subnet": "` + podSubnet + `", "rangeStart": "10.88.1.0"}]],
             "routes": [{"dst": "` + serviceAddress + `/32"}]}
  }]
}
`

// kubelet has its default settings, except where machines differ in cgroup version, rights and
// memory. It reports the node's status every second instead of every ten.
const kubeletConfiguration = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: %[1]s/ca.crt}
authorization: {mode: Webhook}
tlsCertFile: %[1]s/kubelet-server.crt
tlsPrivateKeyFile: %[1]s/kubelet-server.key
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /%[2]s
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
maxOpenFiles: 20000
localStorageCapacityIsolation: false
evictionHard: {memory.available: 1Mi}
imageGCHighThresholdPercent: 100
serializeImagePulls: false
maxPods: 250
resolvConf: ""
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
nodeStatusUpdateFrequency: 1s
featureGates:
  ResourceHealthStatus: true
`

func (c *cluster) configureNode() error {
	content := map[string]string{
		"/e2e/containerd.toml":  containerdConfiguration,
		"/e2e/cni/e2e.conflist": networkConfiguration,
		"/e2e/kubelet.yaml":     fmt.Sprintf(kubeletConfiguration, keysDirectory, os.Getenv(folderVariable)),
	}
	for path, text := range content {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// driverDirectory is mounted at /proc/driver in containers, where no process can write.
const driverDirectory = "/e2e/driver"

// configureContainers writes the base specification of all containers: the runtime's default, plus
// mounts of the node's boot id and driver directory.
func configureContainers() error {
	output, err := program("ctr", "oci", "spec").Output()
	if err != nil {
		return fmt.Errorf("ctr oci spec: %w", err)
	}
	var common map[string]any
	if err := json.Unmarshal(output, &common); err != nil {
		return err
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(driverDirectory, 0o755); err != nil {
		return err
	}
	// These hooks run with the container's root as working directory, so the targets are relative
	// paths.
	binding := func(from, to string) any {
		return map[string]any{"path": busybox, "args": []string{"mount", "-o", "bind", from, to}}
	}
	common["hooks"] = map[string]any{"createContainer": []any{
		binding(bootIDFile, bootIDOfKernel[1:]), binding(driverDirectory, "proc/driver")}}
	content, err := json.Marshal(common)
	if err != nil {
		return err
	}
	return os.WriteFile("/e2e/container.json", content, 0o644)
}

func (c *cluster) startContainerd() error {
	containerd, err := c.start("containerd", "--config=/e2e/containerd.toml")
	if err != nil {
		return err
	}
	// The socket answers before the CRI service does, and kubelet exits if that service fails.
	return containerd.becomes("ready", func(ctx context.Context) error {
		connection, err := grpc.NewClient("unix:///run/containerd/containerd.sock",
			grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return err
		}
		defer connection.Close()
		_, err = cri.NewRuntimeServiceClient(connection).Version(ctx, &cri.VersionRequest{})
		return err
	})
}

// startKubelet starts kubelet and waits until it has reported the node as ready.
func (c *cluster) startKubelet() error {
	kubelet, err := c.start("kubelet", "--config=/e2e/kubelet.yaml",
		"--kubeconfig="+keyFile("kubelet.kubeconfig"), "--node-ip="+nodeAddress, "--v=2")
	if err != nil {
		return err
	}
	begun := time.Now().Truncate(time.Second) // times in the API have whole seconds
	return kubelet.becomes("ready", func(ctx context.Context) error {
		node, err := c.node(ctx)
		if err != nil {
			return err
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == v1.NodeReady {
				if condition.Status == v1.ConditionTrue && condition.LastHeartbeatTime.After(begun) {
					return nil
				}
				return errors.New(condition.Message)
			}
		}
		return errors.New("the node has told nothing yet")
	})
}

func (c *cluster) node(ctx context.Context) (*v1.Node, error) {
	return c.client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
}

// restart ends kubelet or containerd with a signal and starts it again.
func (c *cluster) restart(name string, signal syscall.Signal) error {
	c.processes[name].end(signal)
	if name == "containerd" {
		return c.startContainerd()
	}
	return c.startKubelet()
}

// forgetDevices restarts kubelet without its checkpoint. kubelet keeps the pods of former tests
// there until its next allocation.
func (c *cluster) forgetDevices(t *testing.T) {
	t.Helper()
	c.processes["kubelet"].end(syscall.SIGTERM)
	must(t, os.RemoveAll(filepath.Join(plugin.DevicePluginPath, "kubelet_internal_checkpoint")))
	must(t, c.startKubelet())
}
