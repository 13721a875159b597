// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const patient = 2 * time.Minute // the limit for steps that take seconds on an idle machine

// cluster is a cluster of one node. It belongs to the goroutine of the tests.
type cluster struct {
	client    kubernetes.Interface
	processes map[string]*process
	order     []string // of their first starts
	service   *forwarder
}

// shared is the cluster of all tests, started by the first test that needs it.
var shared struct {
	cluster *cluster
	err     error
}

// theCluster returns the shared cluster. It restarts kubelet and containerd if a failed test has
// left them stopped.
func theCluster(t *testing.T) *cluster {
	t.Helper()
	if shared.cluster == nil && shared.err == nil {
		shared.cluster, shared.err = startCluster()
	}
	if shared.err != nil {
		t.Fatalf("there is no cluster: %v; what its programs said is in %s", shared.err, os.Getenv(logsVariable))
	}
	c := shared.cluster
	if !c.processes["containerd"].running() {
		must(t, c.startContainerd())
	}
	if !c.processes["kubelet"].running() {
		must(t, c.startKubelet())
	}
	for name, process := range c.processes {
		if !process.running() {
			t.Fatalf("%s ended: %v", name, process.command.ProcessState)
		}
	}
	return c
}

// startCluster starts all programs and waits until the node is ready.
func startCluster() (*cluster, error) {
	begun := time.Now()
	c := &cluster{processes: map[string]*process{}}
	err := inOrder(
		makeKeys,
		c.configureNode,
		configureContainers,
		c.startControlPlane,
		c.openService,
		c.startContainerd,
		importImages,
		c.startKubelet,
		c.waitForServiceAccount,
	)
	if err != nil {
		c.stop()
		return nil, err
	}
	fmt.Printf("measured the cluster's start: %.1f s\n", time.Since(begun).Seconds())
	return c, nil
}

func (c *cluster) start(name string, arguments ...string) (*process, error) {
	p, err := startProcess(name, arguments...)
	if err != nil {
		return nil, fmt.Errorf("%s does not start: %w", name, err)
	}
	if !slices.Contains(c.order, name) {
		c.order = append(c.order, name)
	}
	c.processes[name] = p
	return p, nil
}

// waitForServiceAccount waits for the default service account, without which the API server accepts
// no pod.
func (c *cluster) waitForServiceAccount() error {
	return waitUntil(patient, func(ctx context.Context) error {
		_, err := c.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).
			Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// stop kills the programs in the reverse order of their start. The kernel ends all other processes
// with the namespaces.
func (c *cluster) stop() {
	for _, name := range slices.Backward(c.order) {
		c.processes[name].end(syscall.SIGKILL)
	}
}
