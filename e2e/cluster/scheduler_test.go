// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	extenderAddress = "127.0.0.1:9444"
	extenderStatus  = "127.0.0.1:9395"

	// The second one of the cluster, for pods that name HAMi's.
	gpuScheduler              = "gpu-scheduler"
	gpuSchedulerConfiguration = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %s}
percentageOfNodesToScore: 100
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 1
profiles: [{schedulerName: ` + hamisName + `}]
extenders:
- urlPrefix: http://` + extenderAddress + `
  filterVerb: filter
  bindVerb: bind
  nodeCacheCapable: true
  httpTimeout: 30s
  managedResources:
  - {name: nvidia.com/gpu}
  - {name: nvidia.com/gpumem, ignoredByScheduler: true}
  - {name: nvidia.com/gpumem-percentage, ignoredByScheduler: true}
  - {name: nvidia.com/gpucores, ignoredByScheduler: true}
  - {name: nvidia.com/priority, ignoredByScheduler: true}
`
)

// startScheduler has tessera-scheduler place pods until the end of the test, once the plugin has
// registered its GPUs.
func (c *cluster) startScheduler(t *testing.T, count int) *hami {
	t.Helper()
	h := c.startReading(t, count)
	extender, err := c.start("tessera-scheduler", "--kubeconfig="+keyFile("scheduler.kubeconfig"),
		"--extender-bind="+extenderAddress, "--metrics-bind-address="+extenderStatus)
	must(t, err)
	t.Cleanup(func() {
		extender.end(syscall.SIGTERM)
		delete(c.processes, "tessera-scheduler")
	})
	must(t, extender.becomes("ready", answers("http://"+extenderStatus+"/readyz")))
	const path = "/e2e/gpu-scheduler.yaml"
	must(t, os.WriteFile(path, fmt.Appendf(nil, gpuSchedulerConfiguration, keyFile("scheduler.kubeconfig")), 0o644))
	scheduler, err := c.start(gpuScheduler, "--config="+path, "--secure-port=0")
	must(t, err)
	t.Cleanup(func() {
		scheduler.end(syscall.SIGTERM)
		delete(c.processes, gpuScheduler)
	})
	return h
}

// decode reads what was chosen for a pod from its annotation.
func (h *hami) decode(pod *v1.Pod) (placement, error) {
	chosen := placement{parts: map[string][]part{}, allocated: pod.Annotations[allocatedKey]}
	var entries []string
	for _, entry := range strings.Split(chosen.allocated, ";") {
		if entry != "" {
			entries = append(entries, entry)
		}
	}
	for _, container := range containersOf(pod) {
		if askedBy(container).count == 0 {
			continue
		}
		if len(entries) == 0 {
			return chosen, errors.New("a container has no entry")
		}
		for _, device := range strings.Split(strings.TrimSuffix(entries[0], ":"), ":") {
			words := strings.Split(device, ",")
			n := slices.IndexFunc(h.cards, func(one card) bool { return one.ID == words[0] })
			if n < 0 || len(words) != 4 {
				return chosen, fmt.Errorf("%q is no part of a GPU of this node", device)
			}
			memory, err := strconv.ParseInt(words[2], 10, 64)
			cores, more := strconv.ParseInt(words[3], 10, 64)
			if err := errors.Join(err, more); err != nil {
				return chosen, err
			}
			chosen.parts[container.Name] = append(chosen.parts[container.Name], part{h.cards[n], memory, cores})
		}
		entries = entries[1:]
	}
	return chosen, nil
}

func TestTheSchedulerPlacesAPodThatAsksForMemory(t *testing.T) {
	c := theCluster(t)
	c.configureKubelet(t, "crashLoopBackOff: {maxContainerRestartPeriod: 1s}\n")
	makeGPUs(t)
	c.installRequested(t, "")
	h := c.startScheduler(t, 8)

	pod := c.createAsking(t, podAsking("placed", containerAsking("main", asked{count: 1, memory: 3000}, stay)))
	now, err := h.waitFor(t.Context(), pod, func(now *v1.Pod) bool { return now.Status.Phase == v1.PodRunning })
	must(t, err)

	equal(t, "the node", now.Annotations[vgpuNodeKey], nodeName)
	equal(t, "the label", now.Labels[vgpuNodeKey], nodeName)
	h.expectSaid(t, pod.UID, "main", 1)
	b, pods := c.newBurstsWith(t, h, 15, 30)
	must(t, b.run(t.Context(), pods))
	b.expectNoneWrong(t, "bursts of pods that tessera-scheduler places")
	c.compareTimes(t, h, fmt.Sprintf("a burst of %d pods that tessera-scheduler places", burstSize), burstSize, 1)
}

func TestTheSchedulerSaysWhyAPodHasNoPlace(t *testing.T) {
	c := theCluster(t)
	makeGPUs(t)
	c.installRequested(t, "")
	c.startScheduler(t, 8)

	pod := c.createAsking(t, podAsking("large", containerAsking("main", asked{count: 1, memory: 90000}, stay)))

	eventually(t, func(ctx context.Context) error {
		now, err := c.pods().Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range now.Status.Conditions {
			if condition.Type == v1.PodScheduled && condition.Reason == v1.PodReasonUnschedulable &&
				strings.Contains(condition.Message, "1 devices have less in all than a container asks for") {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %v", now.Status.Conditions)
	})
}
