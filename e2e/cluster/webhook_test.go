// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// startWebhook applies deploy/scheduler/webhook.yaml as shipped. A scheduler must run already.
// startWebhook waits until both configurations have its certificate and the API server reaches the
// Service.
func (c *cluster) startWebhook(t *testing.T) {
	t.Helper()
	for _, m := range c.readManifests(t, "scheduler/webhook.yaml") {
		t.Cleanup(func() { must(t, m.delete(context.Background())) })
		m.apply(t)
	}
	eventually(t, func(ctx context.Context) error {
		registered := c.client.AdmissionregistrationV1()
		mutating, err := registered.MutatingWebhookConfigurations().Get(ctx, "tessera-scheduler", metav1.GetOptions{})
		if err != nil {
			return err
		}
		validating, err := registered.ValidatingWebhookConfigurations().Get(ctx, "tessera-scheduler", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(mutating.Webhooks[0].ClientConfig.CABundle) == 0 || len(validating.Webhooks[0].ClientConfig.CABundle) == 0 {
			return errors.New("a configuration of the webhook has no caBundle")
		}
		return nil
	})
	// The API server follows Services by a watch of its own. A dry run of a pod shows when it knows
	// this one.
	eventually(t, func(ctx context.Context) error {
		probe := podAsking("probe", containerAsking("main", asked{count: 1, memory: 1000}, stay))
		_, err := c.pods().Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	})
}

func TestTheSchedulersWebhookCompletesPodsAndRefusesThem(t *testing.T) {
	c := theCluster(t)
	h := c.startShares(t)
	c.startWebhook(t)

	asks := podAsking("completed", containerAsking("main", asked{memory: 3000}, stay))
	asks.Spec.SchedulerName = ""
	pod := c.createAsking(t, asks)

	equal(t, "the scheduler", pod.Spec.SchedulerName, hamisName)
	equal(t, "the count", pod.Spec.Containers[0].Resources.Limits.Name(gpu, "").String(), "1")
	now, err := h.waitFor(t.Context(), pod, func(now *v1.Pod) bool { return now.Status.Phase == v1.PodRunning })
	must(t, err)
	equal(t, "the node", now.Annotations[vgpuNodeKey], nodeName)
	h.expectSaid(t, pod.UID, "main", 1)

	// The webhook ignores pods that name none of its resources.
	plain := c.createAsking(t, podOf("plain", 0, ""))
	equal(t, "the scheduler of a plain pod", plain.Spec.SchedulerName, v1.DefaultSchedulerName)

	refused := podAsking("refused", containerAsking("main", asked{count: 1, percentage: 150}, stay))
	_, err = c.pods().Create(t.Context(), refused, metav1.CreateOptions{})
	equal(t, "the refusal", fmt.Sprint(err), `admission webhook "scheduler.tessera.dev" denied the request: pod `+
		`default/refused: container main asks for 150 of nvidia.com/gpumem-percentage: write a percentage of each `+
		`device's memory, a whole number from 0 to 100`)
}
