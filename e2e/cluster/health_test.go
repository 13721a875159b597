// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// held is one entry of the agent's page /ledger.
type held struct {
	Resource, Namespace, Pod, Container string
	Shares                              []string
}

// waitForLedger waits until the agent's ledger has exactly these holdings. It reads the page at the
// address that Prometheus uses.
func (c *cluster) waitForLedger(t *testing.T, want ...held) {
	t.Helper()
	address := fmt.Sprintf("http://%s:9440/ledger", c.waitForAgent(t).Status.PodIP)
	client := &http.Client{Timeout: 10 * time.Second}
	eventually(t, func(context.Context) error {
		response, err := client.Get(address)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		var page struct{ Holdings []held }
		if err := json.NewDecoder(response.Body).Decode(&page); err != nil {
			return err
		}
		if !reflect.DeepEqual(page.Holdings, want) {
			return fmt.Errorf("the ledger is %+v, not %+v", page.Holdings, want)
		}
		return nil
	})
}

// waitForHealth waits until the pod's status reports this health of its container's devices.
func (c *cluster) waitForHealth(t *testing.T, name string, want ...v1.ResourceHealth) *v1.Pod {
	t.Helper()
	var pod *v1.Pod
	eventually(t, func(ctx context.Context) (err error) {
		if pod, err = c.pods().Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		got := pod.Status.ContainerStatuses[0].AllocatedResourcesStatus
		for _, status := range got { // kubelet reports them in any order
			slices.SortFunc(status.Resources, func(a, b v1.ResourceHealth) int {
				return strings.Compare(string(a.ResourceID), string(b.ResourceID))
			})
		}
		if !reflect.DeepEqual(got, []v1.ResourceStatus{{Name: npu, Resources: want}}) {
			return fmt.Errorf("the health of what %s has is %+v", name, got)
		}
		return nil
	})
	return pod
}

// breakNPU changes the faults of the node's dummy devices. The agent reads them within seconds.
func breakNPU(t *testing.T, verb string, rest ...string) {
	t.Helper()
	arguments := append([]string{"fault", "--state-dir", agentState, verb, string(npu)}, rest...)
	output, err := exec.Command(simPath, arguments...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(arguments, " "), err, output)
	}
}

func TestADeviceThatFailsUnderAPodIsWithheldAndThePodKeepsIt(t *testing.T) {
	c := theCluster(t)
	c.installAgent(t, nil)
	c.waitForDevices(t, "64 of 64")
	c.create(t, podOf("holder", 2, printIDsAndStay))
	before := c.waitForPhase(t, "holder", v1.PodRunning)
	equal(t, "devices of the pod", c.output(t, "holder"), "0,1\n")

	breakNPU(t, "fail", "1", "ECC error")

	c.waitForDevices(t, "63 of 64")
	now := c.waitForHealth(t, "holder", v1.ResourceHealth{ResourceID: "0", Health: v1.ResourceHealthStatusHealthy},
		v1.ResourceHealth{ResourceID: "1", Health: v1.ResourceHealthStatusUnhealthy})
	equal(t, "the pod's container", now.Status.ContainerStatuses[0].ContainerID,
		before.Status.ContainerStatuses[0].ContainerID)
	equal(t, "the pod's phase", now.Status.Phase, v1.PodRunning)
	c.waitForLedger(t, held{Resource: string(npu), Namespace: "default", Pod: "holder",
		Container: "main", Shares: []string{"0", "1"}})

	breakNPU(t, "heal", "1")

	c.waitForDevices(t, "64 of 64")
	c.waitForHealth(t, "holder", v1.ResourceHealth{ResourceID: "0", Health: v1.ResourceHealthStatusHealthy},
		v1.ResourceHealth{ResourceID: "1", Health: v1.ResourceHealthStatusHealthy})
}
