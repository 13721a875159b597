// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const patient = time.Minute // for whatever should be there in seconds on a machine that is not busy

// shared is the cluster that all tests use one after another.
var shared *cluster

// cluster is a whole cluster of one node. It belongs to the goroutine of the tests.
type cluster struct {
	client    kubernetes.Interface
	processes map[string]*process
	order     []string // in which they were started first
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
		c.startContainerd,
		importImages,
		c.startKubelet,
		c.waitForServiceAccount,
	)
	if err != nil {
		c.stop()
		return nil, err
	}
	fmt.Printf("the cluster is up after %.1f s\n", time.Since(begun).Seconds())
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
