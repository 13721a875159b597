// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// prometheus is Debian's server. It scrapes what a PodMonitor selects and evaluates the rules of a
// PrometheusRule, each second. Prometheus Operator would write the same configuration.
type prometheus struct {
	address string // of its API
}

// alert is one of the API's page /api/v1/alerts.
type alert struct {
	State               string // pending, firing
	Labels, Annotations map[string]string
}

// objectOf reads an object of a kind of Prometheus Operator.
func (c *cluster) objectOf(t *testing.T, kind, name string) map[string]any {
	t.Helper()
	reference := c.parseManifests(t, fmt.Appendf(nil, `
apiVersion: monitoring.coreos.com/v1
kind: %s
metadata: {name: %s, namespace: %s}
`, kind, name, agentNamespace))[0]
	object, err := reference.client.Get(t.Context(), name, metav1.GetOptions{})
	must(t, err)
	return object.Object
}

// scrapesOf returns scrape configurations of the pods that a PodMonitor selects. Debian's Prometheus
// cannot ask an API server for them.
func (c *cluster) scrapesOf(t *testing.T, object map[string]any) (scrapes []any) {
	t.Helper()
	var monitor struct {
		Spec struct {
			Selector            metav1.LabelSelector
			PodMetricsEndpoints []struct {
				Port        string
				HonorLabels bool
				Relabelings []struct {
					SourceLabels []string
					TargetLabel  string
				}
			}
		}
	}
	content, err := json.Marshal(object)
	must(t, err)
	must(t, json.Unmarshal(content, &monitor))
	pods, err := c.client.CoreV1().Pods(agentNamespace).
		List(t.Context(), metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&monitor.Spec.Selector)})
	must(t, err)
	for _, endpoint := range monitor.Spec.PodMetricsEndpoints {
		var targets, relabelings []any
		for _, pod := range pods.Items {
			for _, container := range pod.Spec.Containers {
				for _, port := range container.Ports {
					if port.Name == endpoint.Port {
						targets = append(targets, map[string]any{
							"targets": []string{net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(port.ContainerPort)))},
							"labels":  map[string]string{"__meta_kubernetes_pod_node_name": pod.Spec.NodeName}})
					}
				}
			}
		}
		for _, one := range endpoint.Relabelings {
			relabelings = append(relabelings,
				map[string]any{"source_labels": one.SourceLabels, "target_label": one.TargetLabel})
		}
		scrapes = append(scrapes, map[string]any{"job_name": endpoint.Port, "honor_labels": endpoint.HonorLabels,
			"static_configs": targets, "relabel_configs": relabelings})
	}
	return scrapes
}

// startPrometheus starts the server for the PrometheusRule of that name, and the PodMonitors of that
// name and of the scheduler. The test's end ends it.
func (c *cluster) startPrometheus(t *testing.T, name string) *prometheus {
	t.Helper()
	scrapes := append(c.scrapesOf(t, c.objectOf(t, "PodMonitor", name)),
		c.scrapesOf(t, c.objectOf(t, "PodMonitor", "tessera-scheduler"))...)
	directory := t.TempDir()
	write := func(file string, content any) string {
		text, err := yaml.Marshal(content)
		must(t, err)
		path := filepath.Join(directory, file)
		must(t, os.WriteFile(path, text, 0o600))
		return path
	}
	rules := write("rules.yaml", c.objectOf(t, "PrometheusRule", name)["spec"])
	configuration := write("prometheus.yaml", map[string]any{
		"global":         map[string]any{"scrape_interval": "1s", "evaluation_interval": "1s"},
		"rule_files":     []any{rules},
		"scrape_configs": scrapes,
	})
	free, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &prometheus{address: free.Addr().String()}
	must(t, free.Close())
	server, err := startProcess("prometheus", "--config.file="+configuration, "--web.listen-address="+p.address,
		"--storage.tsdb.path="+filepath.Join(directory, "data"))
	must(t, err)
	t.Cleanup(func() {
		must(t, server.command.Process.Signal(syscall.SIGTERM))
		<-server.ended
	})
	eventually(t, func(ctx context.Context) error {
		if !server.running() {
			return errors.New("prometheus has ended")
		}
		_, err := p.alerts(ctx)
		return err
	})
	return p
}

func (p *prometheus) ask(ctx context.Context, path string, data any) error {
	page, err := read(ctx, "http://"+p.address+"/api/v1/"+path)
	if err != nil {
		return err
	}
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.Unmarshal([]byte(page), &answer); err != nil {
		return fmt.Errorf("%w: %s", err, page)
	}
	if answer.Status != "success" {
		return errors.New(answer.Error)
	}
	return json.Unmarshal(answer.Data, data)
}

// alerts returns all alerts that are pending or firing.
func (p *prometheus) alerts(ctx context.Context) ([]alert, error) {
	var data struct{ Alerts []alert }
	err := p.ask(ctx, "alerts", &data)
	return data.Alerts, err
}

// expectAlerts waits until exactly these alerts are pending or firing, each written as its name and
// its summary.
func (p *prometheus) expectAlerts(t *testing.T, want map[string]string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		alerts, err := p.alerts(ctx)
		if err != nil {
			return err
		}
		got := map[string]string{}
		for _, one := range alerts {
			got[one.Labels["alertname"]] = one.Annotations["summary"]
		}
		if !reflect.DeepEqual(got, want) {
			return fmt.Errorf("the alerts are %v, not %v", got, want)
		}
		return nil
	})
}

// expectTargets waits until the server reads so many pages, and returns their addresses.
func (p *prometheus) expectTargets(t *testing.T, want int) (pages []string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		var data struct {
			ActiveTargets []struct{ ScrapeURL, Health, LastError string }
		}
		if err := p.ask(ctx, "targets?state=active", &data); err != nil {
			return err
		}
		pages = nil
		for _, target := range data.ActiveTargets {
			if target.Health == "up" {
				pages = append(pages, target.ScrapeURL)
			}
		}
		if len(pages) != want || len(data.ActiveTargets) != want {
			return fmt.Errorf("the pages are %+v, not %d good ones", data.ActiveTargets, want)
		}
		return nil
	})
	return pages
}
