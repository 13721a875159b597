// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
	kinds "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"tessera/e2e/nvidia"
)

// formerCharts are stand-ins for charts that users have: the same names, kinds, labels and
// selectors, with a plugin that only waits.
//
//go:embed all:former
var formerCharts embed.FS

// helm runs Helm 3 as the administrator, in the agents' namespace, and returns its output.
func helm(t *testing.T, arguments ...string) []byte {
	t.Helper()
	command := exec.Command(filepath.Join(programsDirectory, "helm3"),
		append(arguments, "--namespace", agentNamespace, "--kubeconfig", keyFile("admin.kubeconfig"))...)
	command.Env = []string{"HOME=" + t.TempDir()}
	said, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("helm %v: %v\n%s", arguments, err, said)
	}
	return said
}

// installFormer installs a release of a former chart with a values file, which it returns. The
// test's end uninstalls whatever the release has by then.
func (c *cluster) installFormer(t *testing.T, release, chart, values string) (file string) {
	t.Helper()
	directory := t.TempDir()
	must(t, os.CopyFS(directory, formerCharts))
	file = filepath.Join(directory, "values.yaml")
	must(t, os.WriteFile(file, []byte(values), 0o600))
	c.removeReleaseAtEnd(t, release)
	helm(t, "install", release, filepath.Join(directory, "former", chart), "--values", file, "--wait")
	return file
}

// removeReleaseAtEnd uninstalls a release at the test's end, after all pods.
func (c *cluster) removeReleaseAtEnd(t *testing.T, release string) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			c.showRelease(t)
		}
		must(t, c.removePods(context.Background()))
		uninstall(t, release)
		must(t, os.RemoveAll(agentState))
	})
}

// uninstall uninstalls a release and waits until its pods are gone: they write below agentState to
// the end. Without the cascade helm waits for the DaemonSets alone.
func uninstall(t *testing.T, release string) {
	t.Helper()
	helm(t, "uninstall", release, "--wait", "--cascade", "foreground")
}

// showRelease logs what all containers of the agents' namespace say.
func (c *cluster) showRelease(t *testing.T) {
	pods := c.client.CoreV1().Pods(agentNamespace)
	list, err := pods.List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Log(err)
		return
	}
	for _, pod := range list.Items {
		t.Logf("%s: %s", pod.Name, describe(&pod))
		for _, container := range pod.Spec.Containers {
			said, err := pods.GetLogs(pod.Name, &v1.PodLogOptions{Container: container.Name}).DoRaw(context.Background())
			t.Logf("the log of %s of %s: %v\n%s", container.Name, pod.Name, err, said)
		}
	}
}

// expectDaemonSet checks whether there is a DaemonSet of this name in the agents' namespace.
func (c *cluster) expectDaemonSet(t *testing.T, name string, want bool) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		_, err := c.client.AppsV1().DaemonSets(agentNamespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil && !kinds.IsNotFound(err) {
			return err
		}
		if there := err == nil; there != want {
			return fmt.Errorf("DaemonSet %s: there %v, not %v", name, there, want)
		}
		return nil
	})
}

func TestAReleaseOfNVIDIAsChartBecomesOneOfOursAndGoesBack(t *testing.T) {
	c := theCluster(t)
	driver := nvidia.InstallAs(t, "/", twoGPUs)
	values := c.installFormer(t, "nvdp", "nvidia-device-plugin", `
config:
  map:
    config: |
      version: v1
      sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 10}]}}
image: {repository: nvcr.io/nvidia/k8s-device-plugin, tag: v0.17.1}
`)
	helm(t, "upgrade", "nvdp", filepath.Join(deployDirectory, "chart/tessera"), "--values", values, "--wait", "--timeout", "3m")
	c.expectDaemonSet(t, "nvdp-tessera", true)
	c.expectDaemonSet(t, "nvdp-nvidia-device-plugin", false)
	c.waitForResource(t, gpu, "20 of 20")
	c.create(t, withGPUs("ours", 1, printGPUs+stay))
	ours := c.waitForPhase(t, "ours", v1.PodRunning)
	uuid := c.output(t, "ours")
	equal(t, "the pod's GPU is one of the node's: "+uuid, uuid == driver.UUID(0)+"\n" || uuid == driver.UUID(1)+"\n", true)

	helm(t, "rollback", "nvdp", "--wait")
	c.expectDaemonSet(t, "nvdp-nvidia-device-plugin", true)
	c.expectDaemonSet(t, "nvdp-tessera", false)
	equal(t, "the life of the pod", lifeOf(c.pod(t, "ours")), lifeOf(ours))
}

func TestAReleaseOfHAMisChartBecomesOneOfOursAndGoesBack(t *testing.T) {
	c := theCluster(t)
	driver := makeGPUs(t)
	t.Cleanup(func() { must(t, os.RemoveAll("/var/run/cdi")) })
	values := c.installFormer(t, "hami", "hami", `
scheduler: {kubeScheduler: {imageTag: v1.36.3}}
devicePlugin:
  deviceSplitCount: 10
  createRuntimeClass: true
  nvidiaDriverRoot: `+nvidiaRoot+`
  extraEnvs: {NVIDIA_DEV_ROOT: `+nvidiaRoot+`, CDI_DISABLE_HOOKS: all}
`)
	// The class of HAMi's hook is no release's: Helm neither takes it over nor removes it.
	classes := c.client.NodeV1().RuntimeClasses()
	t.Cleanup(func() { must(t, classes.Delete(context.Background(), "nvidia", metav1.DeleteOptions{})) })
	former := c.startFormer(t, driver)
	size := asked{count: 1, memory: 3000, cores: 30}
	hamis := c.createAsking(t, podAsking("hamis", containerAsking("main", size, stay)))
	waitForSaid(t, hamis.UID, "main", 1)
	hamis = c.waitForPhase(t, hamis.Name, v1.PodRunning)

	former.stop()
	helm(t, "upgrade", "hami", filepath.Join(deployDirectory, "chart/tessera"), "--values", values, "--wait", "--timeout", "3m")
	c.expectDaemonSet(t, "hami-tessera", true)
	c.expectDaemonSet(t, "hami-device-plugin", false)
	c.waitForResource(t, gpu, "80 of 80")
	equal(t, "the life of HAMi's pod", lifeOf(c.pod(t, hamis.Name)), lifeOf(hamis))

	helm(t, "rollback", "hami", "--wait")
	c.expectDaemonSet(t, "hami-device-plugin", true)
	c.expectDaemonSet(t, "hami-tessera", false)
	equal(t, "the life of HAMi's pod", lifeOf(c.pod(t, hamis.Name)), lifeOf(hamis))
}

// The notes of a release name the steps: uninstall it, then apply what cleans its nodes.
func TestANodeHasNoMarkOfAReleaseThatIsUninstalledAndCleaned(t *testing.T) {
	c := theCluster(t)
	makeGPUs(t)
	t.Cleanup(func() { must(t, os.RemoveAll(agentState)) })
	t.Cleanup(func() { must(t, os.RemoveAll("/var/run/cdi")) })
	values := filepath.Join(t.TempDir(), "values.yaml")
	must(t, os.WriteFile(values, []byte(`
scheduler: {enabled: false}
devicePlugin:
  deviceSplitCount: 10
  nvidiaDriverRoot: `+nvidiaRoot+`
  extraEnvs: {NVIDIA_DEV_ROOT: `+nvidiaRoot+`, CDI_DISABLE_HOOKS: all}
`), 0o600))
	chart := filepath.Join(deployDirectory, "chart/tessera")
	registered := func(ctx context.Context) (bool, error) {
		node, err := c.node(ctx)
		if err != nil {
			return false, err
		}
		_, there := node.Annotations[registerKey]
		return there, nil
	}
	helm(t, "install", "tessera", chart, "--values", values, "--wait", "--timeout", "2m")
	eventually(t, func(ctx context.Context) error {
		if there, err := registered(ctx); err != nil || !there {
			return fmt.Errorf("the node is not registered: %v", err)
		}
		return nil
	})

	uninstall(t, "tessera")
	text := helm(t, "template", "tessera", chart, "--values", values, "--set", "cleanup.enabled=true",
		"--kube-version", "1.36.3")
	for _, m := range c.parseManifests(t, text) {
		m.apply(t)
		t.Cleanup(func() { must(t, m.delete(context.Background())) })
	}
	t.Cleanup(func() {
		if t.Failed() {
			c.showRelease(t)
		}
	})

	eventually(t, func(ctx context.Context) error {
		set, err := c.client.AppsV1().DaemonSets(agentNamespace).Get(ctx, "tessera-cleanup", metav1.GetOptions{})
		if err == nil && (set.Status.DesiredNumberScheduled == 0 || set.Status.NumberReady != set.Status.DesiredNumberScheduled) {
			err = fmt.Errorf("%d of %d nodes are clean", set.Status.NumberReady, set.Status.DesiredNumberScheduled)
		}
		return err
	})
	there, err := registered(t.Context())
	must(t, err)
	equal(t, "the node is registered", there, false)
	equal(t, "CDI documents", len(grantDocuments(t)), 0)
}
