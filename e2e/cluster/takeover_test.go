// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestPodsOfAHAMiPluginAreLeftAsTheyAreWhenTheAgentTakesItsPlace(t *testing.T) {
	c := theCluster(t)
	c.configureKubelet(t, "crashLoopBackOff: {maxContainerRestartPeriod: 1s}\n")
	driver := makeGPUs(t)
	former := c.startFormer(t, driver)
	t.Cleanup(func() { must(t, c.removePods(context.Background())) })
	// The agent does not remove the files that HAMi's plugin kept for its containers.
	t.Cleanup(func() { must(t, os.RemoveAll(hookDirectory)) })
	var running, crashing []*v1.Pod
	for n := range 4 {
		size := asked{count: 1, memory: 1000 + int64(n), cores: 1 + int64(n)}
		running = append(running, c.createAsking(t,
			podAsking(fmt.Sprintf("running-%d", n), containerAsking("main", size, stay))))
		crashing = append(crashing, c.createAsking(t,
			podAsking(fmt.Sprintf("crashing-%d", n), containerAsking("main", size, "sleep 1; exit 1"))))
	}
	before := map[types.UID]string{}
	for _, pod := range slices.Concat(running, crashing) {
		before[pod.UID] = waitForSaid(t, pod.UID, "main", 1)[0]
	}
	for n, pod := range running {
		running[n] = c.waitForPhase(t, pod.Name, v1.PodRunning)
	}

	former.stop()
	c.installRequested(t, "")

	h := former.hami
	for n := range 4 {
		size := asked{count: 1, memory: 5000 + int64(n), cores: 11 + int64(n)}
		pod := c.createAsking(t, podAsking(fmt.Sprintf("new-%d", n), containerAsking("main", size, stay)))
		h.expectSaid(t, pod.UID, "main", 1)
	}
	for _, pod := range running {
		equal(t, "a running pod", lifeOf(c.pod(t, pod.Name)), lifeOf(pod))
	}
	for _, pod := range crashing {
		so := waitForSaid(t, pod.UID, "main", 0)
		for _, text := range waitForSaid(t, pod.UID, "main", len(so)+2) {
			equal(t, "what a crashing pod finds", text, before[pod.UID])
		}
	}
}
