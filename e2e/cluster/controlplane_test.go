// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"k8s.io/client-go/kubernetes"
)

const schedulerConfiguration = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: false
clientConnection:
  kubeconfig: %s
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 1
`

// startControlPlane starts etcd, the API server, the controllers and the scheduler.
func (c *cluster) startControlPlane() error {
	etcd, err := c.start("etcd", "--name=e2e", "--data-dir=/var/lib/etcd", "--log-level=warn",
		"--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
		"--listen-peer-urls=http://127.0.0.1:2380")
	if err != nil {
		return err
	}
	if err := etcd.becomes("healthy", answers("http://127.0.0.1:2379/health")); err != nil {
		return err
	}
	if err := c.startAPIServer(); err != nil {
		return err
	}
	if _, err := c.start("kube-controller-manager", "--kubeconfig="+keyFile("controllers.kubeconfig"),
		"--leader-elect=false", "--use-service-account-credentials=true",
		"--service-account-private-key-file="+keyFile("accounts.key"),
		"--root-ca-file="+keyFile("ca.crt"),
		"--cluster-signing-cert-file="+keyFile("ca.crt"), "--cluster-signing-key-file="+keyFile("ca.key"),
	); err != nil {
		return err
	}
	const path = "/e2e/scheduler.yaml"
	content := fmt.Sprintf(schedulerConfiguration, keyFile("scheduler.kubeconfig"))
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		return err
	}
	_, err = c.start("kube-scheduler", "--config="+path)
	return err
}

// startAPIServer starts the API server and waits until it is ready.
func (c *cluster) startAPIServer() error {
	server, err := c.start("kube-apiserver",
		"--etcd-servers=http://127.0.0.1:2379",
		"--bind-address=0.0.0.0", "--advertise-address="+nodeAddress, "--secure-port="+apiServerPort,
		"--endpoint-reconciler-type=none", "--shutdown-delay-duration=0s",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--authorization-mode=Node,RBAC", "--allow-privileged=true",
		"--client-ca-file="+keyFile("ca.crt"),
		"--tls-cert-file="+keyFile("apiserver.crt"), "--tls-private-key-file="+keyFile("apiserver.key"),
		"--kubelet-certificate-authority="+keyFile("ca.crt"),
		"--kubelet-client-certificate="+keyFile("admin.crt"), "--kubelet-client-key="+keyFile("admin.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+keyFile("accounts.crt"),
		"--service-account-signing-key-file="+keyFile("accounts.key"),
		"--feature-gates=ResourceHealthStatus=true",
		// No kube-proxy runs, so the API server must resolve a webhook's Service to pod addresses
		// itself.
		"--enable-aggregator-routing=true")
	if err != nil {
		return err
	}
	if c.client, err = kubernetes.NewForConfig(administrator()); err != nil {
		return err
	}
	ready := func(ctx context.Context) error {
		return c.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}
	return server.becomes("ready", ready)
}

// answers returns a check that the page at url has status 200.
func answers(url string) func(context.Context) error {
	client := &http.Client{Timeout: time.Second}
	return func(context.Context) error {
		response, err := client.Get(url)
		if err != nil {
			return err
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", url, response.Status)
		}
		return nil
	}
}
