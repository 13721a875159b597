// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"tessera/e2e/nvidia"
)

const (
	mpsRoot     = "/run/nvidia/mps"                    // as in deploy/nvidia/mps-daemonset.yaml
	mpsPrograms = "/var/lib/e2e-mps"                   // on the node
	mpsToldFile = mpsRoot + "/nvidia.com/gpu/told.log" // the fake daemon's log of commands

	sharedByMPS = `version: v1
sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}
`
	// askMPS is a client of the daemon. It first checks that it can neither remove the daemon's
	// socket nor plant a file next to it. Then it queries the daemon every second, until the daemon
	// no longer answers.
	askMPS = `trap 'exit 0' TERM
cd $CUDA_MPS_PIPE_DIRECTORY && ! rm -f control 2>/dev/null && ! ln -s /etc/passwd log 2>/dev/null || exit 2
while echo get_default_active_thread_percentage | ` + mpsPrograms + `/nvidia-cuda-mps-control; do sleep 1; done
exit 1`
)

var namesOfMPS = []string{"nvidia-cuda-mps-control", "nvidia-cuda-mps-server", "nvidia-smi"}

// installMPS puts the MPS programs on the node. The test's end removes them and all that MPS leaves
// there.
func installMPS(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		if err := syscall.Unmount(mpsRoot+"/shm", 0); !errors.Is(err, syscall.EINVAL) {
			must(t, err)
		}
		must(t, errors.Join(os.RemoveAll(mpsRoot), os.RemoveAll(mpsPrograms)))
	})
	content, err := os.ReadFile(mpsPath)
	must(t, err)
	must(t, os.MkdirAll(mpsPrograms, 0o755))
	for _, name := range namesOfMPS {
		must(t, os.WriteFile(filepath.Join(mpsPrograms, name), content, 0o755))
	}
}

// sharingByMPS makes the ConfigMap share GPUs by MPS. It mounts into the daemons' container what
// NVIDIA's runtime would add: the driver's library and the programs.
func sharingByMPS(t *testing.T) func(manifest) {
	return func(m manifest) {
		t.Helper()
		switch m.object.GetName() {
		case "nvidia-plugin-configs":
			must(t, unstructured.SetNestedField(m.object.Object, sharedByMPS, "data", "config.yaml"))
		case "tessera-nvidia-mps":
			mountDirectory(t, m.object, "/usr/lib64")
			for _, name := range namesOfMPS {
				mountAt(t, m.object, filepath.Join(mpsPrograms, name), "/usr/bin/"+name, v1.HostPathFile)
			}
		}
	}
}

// clientOfMPS makes a pod that has a share of a GPU and queries the daemon.
func clientOfMPS(name string) *v1.Pod {
	pod := withGPUs(name, 1, askMPS)
	pod.Spec.Volumes = []v1.Volume{{Name: "programs", VolumeSource: v1.VolumeSource{
		HostPath: &v1.HostPathVolumeSource{Path: mpsPrograms}}}}
	main := &pod.Spec.Containers[0]
	main.VolumeMounts = []v1.VolumeMount{{Name: "programs", MountPath: mpsPrograms}}
	return pod
}

// waitForAnswers waits for this many further answers of the daemon. All answers must be the same.
func (c *cluster) waitForAnswers(t *testing.T, name string, more int) {
	t.Helper()
	before := strings.Count(c.output(t, name), "\n")
	eventually(t, func(ctx context.Context) error {
		said := c.output(t, name)
		count := strings.Count(said, "\n")
		equal(t, "what the daemon answers", said, strings.Repeat("50.0\n", count))
		if count < before+more {
			return fmt.Errorf("the daemon has answered %d times, %d before", count, before)
		}
		return nil
	})
}

func (c *cluster) mpsPods(ctx context.Context) ([]v1.Pod, error) {
	list, err := c.client.CoreV1().Pods(agentNamespace).
		List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=tessera-nvidia-mps"})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// mpsPod returns the pod of the daemons.
func (c *cluster) mpsPod(t *testing.T) *v1.Pod {
	t.Helper()
	pods, err := c.mpsPods(t.Context())
	must(t, err)
	equal(t, "pods of MPS daemons", len(pods), 1)
	return &pods[0]
}

// mpsLife identifies the daemon by its process and by the commands that it received.
func mpsLife(t *testing.T) string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	var processes []string
	for _, path := range paths {
		words, err := os.ReadFile(path)
		if err == nil && string(words) == "nvidia-cuda-mps-control\x00-d\x00" {
			processes = append(processes, filepath.Dir(path))
		}
	}
	equal(t, "MPS daemons", len(processes), 1)
	told, err := os.ReadFile(mpsToldFile)
	must(t, err)
	return processes[0] + " was told:\n" + string(told)
}

func TestAnUpdateOfTheAgentTouchesNeitherMPSDaemonsNorTheirClients(t *testing.T) {
	c := theCluster(t)
	nvidia.InstallAs(t, "/", twoGPUs)
	installMPS(t)
	c.labelNode(t, "nvidia.com/mps.capable", "true")
	c.installPluginWith(t, sharingByMPS(t), c.readManifests(t, "nvidia/mps-daemonset.yaml")...)
	t.Cleanup(func() {
		if t.Failed() {
			pods, err := c.mpsPods(context.Background())
			c.showLogs(t, pods, err)
		}
	})
	c.waitForResource(t, gpu, "4 of 4")
	c.create(t, clientOfMPS("client"))
	client := c.waitForPhase(t, "client", v1.PodRunning)
	c.waitForAnswers(t, "client", 1)
	pod, daemon := c.mpsPod(t), mpsLife(t)

	c.updateAgentOf(t, "tessera-nvidia")

	c.waitForResource(t, gpu, "4 of 4")
	c.waitForAnswers(t, "client", 2)
	equal(t, "the client", lifeOf(c.pod(t, "client")), lifeOf(client))
	equal(t, "the pod of the daemon", lifeOf(c.mpsPod(t)), lifeOf(pod))
	equal(t, "the daemon", mpsLife(t), daemon)
	// The new agent knows the client's share: three are left.
	c.create(t, withGPUs("rest", 1, printGPUs+stay))
	c.waitForPhase(t, "rest", v1.PodRunning)
}
