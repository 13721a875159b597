// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"tessera/e2e/nvidia"
)

const (
	largeMIG = v1.ResourceName("nvidia.com/mig-3g.40gb")

	// This is --mig-strategy=mixed in Tessera's own configuration. A variable names the container's
	// instance.
	mixedMIG = `  - name: "nvidia.com/mig-{profile}"
    strategies: [envvar]
    nvidia: {mig: "*", driverRoot: ` + nvidiaRoot + `, devRoot: ` + nvidiaRoot + `}
`
)

// showMinors lets containers read the kernel's list of MIG device nodes.
func showMinors(t *testing.T, driver *nvidia.Driver) {
	t.Helper()
	path := filepath.Join(driverDirectory, nvidia.MinorsFile)
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	t.Cleanup(func() { must(t, os.RemoveAll(filepath.Dir(path))) })
	must(t, os.WriteFile(path, []byte(driver.Minors()), 0o644))
}

// serveMIG adds a resource for each MIG profile to the agent's configuration.
func serveMIG(t *testing.T) func(manifest) {
	return func(m manifest) {
		t.Helper()
		if m.object.GetKind() != "ConfigMap" {
			return
		}
		text, _, err := unstructured.NestedString(m.object.Object, "data", "tessera.yaml")
		must(t, err)
		must(t, unstructured.SetNestedField(m.object.Object, text+mixedMIG, "data", "tessera.yaml"))
	}
}

// ofProfile makes a container that asks for a MIG instance and reports.
func ofProfile(name string, profile v1.ResourceName) v1.Container {
	container := containerAsking(name, asked{}, stay)
	container.Resources.Limits[profile] = *resource.NewQuantity(1, resource.DecimalSI)
	return container
}

// callsOfScheduler returns how often kube-scheduler has called the extenders of all replicas, to
// filter nodes and to bind.
func (c *cluster) callsOfScheduler(t *testing.T) (calls int) {
	t.Helper()
	pods, err := c.schedulerPods(t.Context())
	must(t, err)
	for _, pod := range pods {
		answer, err := http.Get("http://" + pod.Status.PodIP + ":9395/metrics")
		must(t, err)
		defer answer.Body.Close()
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			words := strings.Fields(lines.Text())
			if strings.HasPrefix(lines.Text(), "tessera_scheduler_filter_duration_seconds_count") ||
				strings.HasPrefix(lines.Text(), "tessera_scheduler_binds_total") {
				count, err := strconv.Atoi(words[len(words)-1])
				must(t, err)
				calls += count
			}
		}
	}
	return calls
}

// instanceOf returns the MIG instance that a container sees, and checks its profile.
func instanceOf(t *testing.T, driver *nvidia.Driver, pod *v1.Pod, container, profile string) string {
	t.Helper()
	said := waitForSaid(t, pod.UID, container, 1)[0]
	instance, told := strings.CutPrefix(strings.TrimSpace(said), "NVIDIA_VISIBLE_DEVICES=")
	equal(t, "an instance of "+profile+": "+said, told && slices.Contains(driver.MIGs(profile), instance), true)
	return instance
}

// Six GPUs are shared. Two are divided into MIG instances, which only kubelet and kube-scheduler
// count.
func TestWholeGPUsSharesAndMIGInstancesOfOneNodeGoToThePodsThatAskForThem(t *testing.T) {
	c := theCluster(t)
	driver := makeGPUsOf(t, "8xh100-mig")
	showMinors(t, driver)
	c.installSharing(t, byCdi, "", serveMIG(t))
	for name, counts := range map[v1.ResourceName]string{gpu: "60 of 60", mig: "9 of 9", largeMIG: "1 of 1"} {
		c.waitForResource(t, name, counts)
	}
	h := c.startScheduler(t, 6)

	small := c.createAsking(t, podAsking("small", ofProfile("main", mig)))
	large := c.createAsking(t, podAsking("large", ofProfile("main", largeMIG)))
	first := instanceOf(t, driver, small, "main", "1g.10gb")
	instanceOf(t, driver, large, "main", "3g.40gb")
	equal(t, "annotations of a pod with a MIG instance", len(c.pod(t, "small").Annotations), 0)
	equal(t, "calls of the extenders", c.callsOfScheduler(t), 0)

	h.expectPlaced(t, c.createWhole(t, 3))
	both := c.createAsking(t, podAsking("both", containerAsking("main", modest, stay), ofProfile("instance", mig)))
	much := c.createAsking(t, podAsking("much", containerAsking("main", modest, stay), ofProfile("instance", largeMIG)))
	h.expectPlaced(t, append(c.createQuarters(t, 0, 6), both))
	equal(t, "two calls for each of ten pods", c.callsOfScheduler(t) >= 20, true)
	equal(t, "one instance for two pods", instanceOf(t, driver, both, "instance", "1g.10gb") == first, false)

	said := c.waitForUnschedulable(t, much.Name)
	equal(t, "what it waits for: "+said, strings.Contains(said, "Insufficient nvidia.com/mig-3g.40gb"), true)
	must(t, c.pods().Delete(t.Context(), large.Name, metav1.DeleteOptions{}))
	h.expectPlaced(t, []*v1.Pod{much})
	instanceOf(t, driver, much, "instance", "3g.40gb")
}
