// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// pagesOf returns the metrics of the agent and of the monitor beside it.
func (c *cluster) pagesOf(ctx context.Context, t *testing.T) (agent, monitor string, err error) {
	t.Helper()
	address := c.waitForAgent(t).Status.PodIP
	if agent, err = read(ctx, "http://"+address+":9440/metrics"); err != nil {
		return "", "", err
	}
	monitor, err = read(ctx, "http://"+address+":9394/metrics")
	return agent, monitor, err
}

// expectLines waits until the agent's metrics have these lines.
func (c *cluster) expectLines(t *testing.T, lines ...string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		page, _, err := c.pagesOf(ctx, t)
		if err != nil {
			return err
		}
		for _, line := range lines {
			if !strings.Contains("\n"+page, "\n"+line+"\n") {
				return fmt.Errorf("the metrics lack %s", line)
			}
		}
		return nil
	})
}

func TestAnXIDAndTheRecoveryAreInMetricsAndAlertsOfTheChart(t *testing.T) {
	c := theCluster(t)
	c.installKindsOfOthers(t)
	driver := c.installShares(t, `
podMonitor: {enabled: true}
alerts: {enabled: true}
`)
	c.createOnceTheWebhookAnswers(t, podAsking("holder", containerAsking("main", asked{count: 1, memory: 3000}, stay)))
	c.waitForPhase(t, "holder", v1.PodRunning)
	server := c.startPrometheus(t, "tessera")
	// Of the agent, of the monitor, of two replicas of the scheduler.
	for _, url := range server.expectTargets(t, 4) {
		page, err := read(t.Context(), url)
		must(t, err)
		check := program("promtool", "check", "metrics")
		check.Stdin = strings.NewReader(page)
		said, err := check.CombinedOutput()
		if exit := new(exec.ExitError); !errors.As(err, &exit) {
			must(t, err)
		}
		for line := range strings.Lines(string(said)) {
			if !strings.HasPrefix(line, "hami_") { // HAMi's names are as they are
				t.Errorf("promtool: %s: %s", url, line)
			}
		}
	}
	server.expectAlerts(t, map[string]string{})

	driver.Break("events: [{gpu: 3, xid: 79}]\n")

	uuid := driver.UUID(3)
	c.expectLines(t, `tessera_devices{resource="nvidia.com/gpu",state="unhealthy"} 1`,
		fmt.Sprintf(`tessera_nvidia_xids_total{resource="nvidia.com/gpu",gpu="%s",xid="79"} 1`, uuid))
	fallen := nodeName + ": XID 79 of " + uuid
	server.expectAlerts(t, map[string]string{
		"TesseraDeviceOut": nodeName + ": 1 devices of nvidia.com/gpu are out", "TesseraXid": fallen})

	c.reset(t, driver, 3)

	c.expectLines(t, `tessera_devices{resource="nvidia.com/gpu",state="unhealthy"} 0`,
		`tessera_devices{resource="nvidia.com/gpu",state="healthy"} 8`)
	server.expectAlerts(t, map[string]string{"TesseraXid": fallen}) // for ten minutes
}
