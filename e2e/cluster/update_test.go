// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// usualChurn is how long the test updates the agent repeatedly. TESSERA_E2E_CHURN=10m or more
// searches for rare faults.
const usualChurn = time.Minute

// These limits are for the time in which kubelet sees no healthy device during an update: for the
// shortest gap, and for every gap. A busy machine can only lengthen a gap, so the shortest one is
// the agents' own. The printed median depends on the machine as well.
const (
	shortGap   = 50 * time.Millisecond
	longestGap = 5 * time.Second
)

func churnTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("TESSERA_E2E_CHURN")
	if text == "" {
		return usualChurn
	}
	duration, err := time.ParseDuration(text)
	must(t, err)
	return duration
}

// updateAgent replaces the agent of deploy/examples.
func (c *cluster) updateAgent(t *testing.T) {
	t.Helper()
	c.updateAgentOf(t, "tessera")
}

// updateAgentOf restarts a DaemonSet as "kubectl rollout restart" does, and waits until only the
// new agent is there and ready.
func (c *cluster) updateAgentOf(t *testing.T, daemonSet string) {
	t.Helper()
	old := c.waitForAgent(t).UID
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"restarted":"%d"}}}}}`,
		time.Now().UnixNano())
	_, err := c.client.AppsV1().DaemonSets(agentNamespace).Patch(t.Context(), daemonSet,
		types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	must(t, err)
	eventually(t, func(ctx context.Context) error {
		pods, err := c.agentPods(ctx)
		if err != nil {
			return err
		}
		if len(pods) != 1 || pods[0].UID == old {
			return fmt.Errorf("the update is not done: %d agents", len(pods))
		}
		return nil
	})
	c.waitForAgent(t)
}

// noneHealthy is kubelet's refusal of a pod that it admits in a gap.
const noneHealthy = "Pod was rejected: Allocate failed due to no healthy devices present; cannot allocate " +
	"unhealthy devices dummy.com/npu, which is unexpected"

// inTheGap also matches the refusals if the agent ends, or kubelet closes the connection, during
// kubelet's call.
var inTheGap = regexp.MustCompile("^(" + regexp.QuoteMeta(noneHealthy) +
	"|Pod was rejected: Allocate failed due to (device plugin GetPreferredAllocation rpc failed with err: )?" +
	"(rpc error: code = (Unavailable|Canceled) desc = .*|endpoint .* has been stopped), which is unexpected)$")

func expectInTheGap(t *testing.T, refusals []string) {
	t.Helper()
	for _, said := range refusals {
		if !inTheGap.MatchString(said) {
			t.Errorf("a pod was refused for no good reason: %s", said)
		}
	}
}

// gap is a time in which kubelet had no healthy NPU.
type gap struct{ from, to time.Time }

func (g gap) length() time.Duration { return g.to.Sub(g.from) }

var healthyLine = regexp.MustCompile(
	`^I(\d{4} [\d:.]+) .*\] (?:"Mark all resources Unhealthy for resource" resourceName="dummy.com/npu"|` +
		`"Processed device updates for resource" resourceName="dummy.com/npu" totalCount=64 healthyCount=(\d+))`)

// timeInLog parses a time of kubelet's log, which has no year. It takes the year that brings the
// time near `about`.
func timeInLog(text string, about time.Time) (time.Time, error) {
	about = about.UTC()
	for _, year := range []int{about.Year(), about.Year() + 1, about.Year() - 1} {
		at, err := time.Parse("2006 0102 15:04:05.000000", fmt.Sprintf("%04d %s", year, text))
		if err == nil && at.Sub(about).Abs() < 180*24*time.Hour {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("kubelet's log has the time %q, which is not near %s", text, about)
}

// gapsSince returns the gaps in kubelet's own log since a moment at which kubelet had healthy NPUs.
// A last gap without an end is an error.
func gapsSince(since time.Time) (found []gap, err error) {
	log, err := os.Open(logOf("kubelet"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	var open *gap
	for lines.Scan() {
		match := healthyLine.FindStringSubmatch(lines.Text())
		if match == nil {
			continue
		}
		at, err := timeInLog(match[1], since)
		if err != nil {
			return nil, err
		}
		healthy := match[2] != "" && match[2] != "0"
		switch {
		case at.Before(since):
		case !healthy && open == nil:
			open = &gap{from: at}
		case healthy && open != nil:
			open.to = at
			found = append(found, *open)
			open = nil
		}
	}
	if open != nil {
		return nil, fmt.Errorf("kubelet has had no healthy device since %s", open.from)
	}
	return found, lines.Err()
}

// lengthsOfGaps returns the lengths of the gaps since a moment, the shortest first. Each update
// causes one gap, or two: an agent with slow checks lists no healthy device at first.
func lengthsOfGaps(t *testing.T, since time.Time, updates int) []time.Duration {
	t.Helper()
	var lengths []time.Duration
	eventually(t, func(context.Context) error {
		found, err := gapsSince(since)
		lengths = nil
		for _, gap := range found {
			lengths = append(lengths, gap.length())
		}
		if err == nil && len(found) < updates {
			err = fmt.Errorf("kubelet's log tells of %d gaps since %s, and there were %d updates",
				len(found), since.UTC(), updates)
		}
		return err
	})
	slices.Sort(lengths)
	return lengths
}

func TestAnUpdateOfTheAgentLeavesKubeletWithoutDevicesForMilliseconds(t *testing.T) {
	c := theCluster(t)
	c.installAgent(t, nil)
	c.waitForDevices(t, "64 of 64")

	// A busy machine may need more than five updates to show the agents' own time.
	var lengths []time.Duration // without a healthy device, one for each update
	for n := 0; n < 5 || n < 15 && slices.Min(lengths) > shortGap; n++ {
		begun := time.Now()
		c.updateAgent(t)
		var all time.Duration
		for _, length := range lengthsOfGaps(t, begun, 1) {
			all += length
		}
		lengths = append(lengths, all)
	}

	slices.Sort(lengths)
	fmt.Printf("measured %d updates: no healthy device for %v, the median is %v\n",
		len(lengths), lengths, lengths[len(lengths)/2])
	if lengths[0] > shortGap || slices.Max(lengths) > longestGap {
		t.Errorf("kubelet saw no healthy device for too long: no update took %v or less, or one more than %v",
			shortGap, longestGap)
	}
}

func TestUpdatesOfTheAgentWhilePodsComeAndGoGrantNothingTwice(t *testing.T) {
	c := theCluster(t)
	t.Cleanup(func() { must(t, os.RemoveAll(heldDirectory)) })
	c.installAgent(t, nil)
	c.waitForDevices(t, "64 of 64")
	var staying []*v1.Pod
	for n := range 4 {
		pod := holderOf(fmt.Sprintf("stays-%d", n), 8, writeStart+printIDsAndStay)
		c.create(t, pod)
		staying = append(staying, c.waitForPhase(t, pod.Name, v1.PodRunning))
	}

	begun := time.Now()
	churning, stop := c.startChurn(t.Context())
	t.Cleanup(stop)
	updates := 0
	for ; time.Since(begun) < churnTime(t); updates++ {
		c.updateAgent(t)
	}
	stop()

	lengths := lengthsOfGaps(t, begun, updates)
	fmt.Printf("measured %d updates in %.0f s: %d pods ran, %d were refused; no healthy device for %v\n",
		updates, time.Since(begun).Seconds(), churning.passed, len(churning.refused), lengths)
	equal(t, "pods that failed", churning.failed, []error(nil))
	expectInTheGap(t, churning.refused)
	if longest := slices.Max(lengths); longest > longestGap {
		t.Errorf("kubelet saw no healthy device for %v; %v is the most", longest, longestGap)
	}
	for _, before := range staying {
		equal(t, "a pod that stays", lifeOf(c.pod(t, before.Name)), lifeOf(before))
	}
	held := readHeld(t)
	equal(t, "devices granted twice", doubleGrants(held), []string(nil))
	count := 0
	for _, spans := range held {
		count += len(spans)
	}
	equal(t, "devices granted in all", count, 4*8+churning.passed*churnCount)
}
