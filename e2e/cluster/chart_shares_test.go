// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"tessera/e2e/nvidia"
)

// ratioOf finds the share of a GPU's time that the monitor says a pod was granted, and the GPU.
func ratioOf(page, pod string) (ratio, device string, err error) {
	series := regexp.MustCompile(`(?m)^tessera_container_compute_granted_ratio\{(.*pod="` + pod + `".*)\} (\S+)$`)
	found := series.FindStringSubmatch(page)
	if found == nil {
		return "", "", errors.New("no share of " + pod + " in the monitor's page")
	}
	label := regexp.MustCompile(`device="([^"]*)"`).FindStringSubmatch(found[1])
	if label == nil {
		return "", "", errors.New("no device in " + found[0])
	}
	return found[2], label[1], nil
}

func read(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	return string(page), err
}

// installShares installs the chart on a node of eight GPUs, with exact shares and the scheduler, and
// further values. The test's end removes it.
func (c *cluster) installShares(t *testing.T, more string) *nvidia.Driver {
	t.Helper()
	driver := makeGPUs(t)
	t.Cleanup(func() { must(t, os.RemoveAll("/var/run/cdi")) })
	c.installValues(t, `
scheduler: {defaultSchedulerPolicy: {gpuSchedulerPolicy: binpack}}
devicePlugin:
  nvidiaDriverRoot: `+nvidiaRoot+`
  deviceListStrategy: cdi-cri
  extraEnvs: {NVIDIA_DEV_ROOT: `+nvidiaRoot+`, CDI_DISABLE_HOOKS: all}
`+more)
	return driver
}

// createOnceTheWebhookAnswers creates a pod. The webhook's CA is a moment late.
func (c *cluster) createOnceTheWebhookAnswers(t *testing.T, pod *v1.Pod) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		_, err := c.pods().Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}

func TestTwoPodsHave30And60PercentOfOneGPUAndTheMetricsSaySo(t *testing.T) {
	c := theCluster(t)
	c.installShares(t, "")

	for name, cores := range map[string]int64{"thirty": 30, "sixty": 60} {
		c.createOnceTheWebhookAnswers(t, podAsking(name, containerAsking("main", asked{count: 1, memory: 3000, cores: cores}, stay)))
		c.waitForPhase(t, name, v1.PodRunning)
	}

	eventually(t, func(ctx context.Context) error {
		_, page, err := c.pagesOf(ctx, t)
		if err != nil {
			return err
		}
		thirty, on, err := ratioOf(page, "thirty")
		if err != nil {
			return err
		}
		sixty, too, err := ratioOf(page, "sixty")
		if err == nil && (thirty != "0.3" || sixty != "0.6" || on != too) {
			err = fmt.Errorf("%s of %s and %s of %s are granted", thirty, on, sixty, too)
		}
		return err
	})
}
