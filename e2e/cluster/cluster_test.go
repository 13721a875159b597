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

const patient = time.Minute // for whatever should be there in seconds on a machine that is not busy

// cluster is a whole cluster of one node. It belongs to the goroutine of the tests.
type cluster struct {
	client    kubernetes.Interface
	processes map[string]*process
	order     []string // in which they were started first
	service   *forwarder
}

// shared is the cluster that all tests use one after another, once one has asked for it.
var shared struct {
	cluster *cluster
	err     error
}

// theCluster is the cluster. Where a failed test has left the node without kubelet or containerd, these
// are started again.
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

// startCluster starts everything and waits until the node is ready.
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

// waitForServiceAccount waits for what every pod of a namespace needs first.
func (c *cluster) waitForServiceAccount() error {
	return waitUntil(patient, func(ctx context.Context) error {
		_, err := c.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).
			Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// stop ends the programs in the reverse order of their start. What is left ends with the namespaces.
func (c *cluster) stop() {
	for _, name := range slices.Backward(c.order) {
		c.processes[name].end(syscall.SIGKILL)
	}
}
