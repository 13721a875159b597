// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

const (
	latePort = "8443"           // next to the service's own port
	lateBy   = 30 * time.Second // the delay of each watch event there
)

// startLateService opens a port at the service's address that passes requests on, but delays all
// watch events of pods and nodes by lateBy. It returns the number of such watches. The test's end
// closes the port.
func startLateService(t *testing.T) (watches *atomic.Int64) {
	t.Helper()
	trusting, err := rest.TLSConfigFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAFile: keyFile("ca.crt")}})
	must(t, err)
	server := &url.URL{Scheme: "https", Host: net.JoinHostPort(nodeAddress, apiServerPort)}
	listener, err := net.Listen("tcp", net.JoinHostPort(serviceAddress, latePort))
	must(t, err)
	watches = &atomic.Int64{}
	service := &http.Server{Handler: &httputil.ReverseProxy{
		Rewrite:       func(request *httputil.ProxyRequest) { request.SetURL(server) },
		Transport:     &http.Transport{TLSClientConfig: trusting},
		FlushInterval: -1, // pass each part on at once
		ModifyResponse: func(response *http.Response) error {
			path, query := response.Request.URL.Path, response.Request.URL.Query()
			if query.Has("watch") && (strings.HasSuffix(path, "/pods") || strings.HasSuffix(path, "/nodes")) {
				watches.Add(1)
				response.Body = tellLate(response.Body)
			}
			return nil
		},
	}}
	ended := make(chan error, 1)
	go func() { ended <- service.ServeTLS(listener, keyFile("apiserver.crt"), keyFile("apiserver.key")) }()
	t.Cleanup(func() {
		must(t, service.Close())
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return watches
}

// late is the delayed body of a watch.
type late struct {
	*io.PipeReader
	said io.Closer
}

func (l late) Close() error { return errors.Join(l.PipeReader.Close(), l.said.Close()) }

// tellLate passes each part of the body on after the delay.
func tellLate(from io.ReadCloser) io.ReadCloser {
	type part struct {
		due  time.Time
		said []byte
		err  error
	}
	parts := make(chan part, 10_000) // more than arrive during the delay
	go func() {
		defer close(parts)
		for {
			said := make([]byte, 4096)
			n, err := from.Read(said)
			parts <- part{time.Now().Add(lateBy), said[:n], err}
			if err != nil {
				return
			}
		}
	}()
	heard, tell := io.Pipe()
	go func() {
		for one := range parts {
			time.Sleep(time.Until(one.due))
			tell.Write(one.said)
			if one.err != nil {
				tell.CloseWithError(one.err)
			}
		}
	}()
	return late{heard, from}
}

// askingLate makes the scheduler's extender use that port. kube-scheduler's own watches stay in
// time.
func askingLate(t *testing.T) func(manifest) {
	return func(m manifest) {
		t.Helper()
		if m.object.GetKind() != "Deployment" {
			return
		}
		path := []string{"spec", "template", "spec", "containers"}
		containers, _, err := unstructured.NestedSlice(m.object.Object, path...)
		must(t, err)
		for _, one := range containers {
			if container := one.(map[string]any); container["name"] == "tessera-scheduler" {
				container["env"] = append(container["env"].([]any),
					map[string]any{"name": "KUBERNETES_SERVICE_PORT", "value": latePort})
			}
		}
		must(t, unstructured.SetNestedSlice(m.object.Object, containers, path...))
	}
}

// The watch of a new leader does not show yet which pods the former leader bound.
func TestNoGPUIsGivenTwiceWhereTheSchedulersWatchIsHalfAMinuteBehind(t *testing.T) {
	c := theCluster(t)
	watches := startLateService(t)
	h := c.startSharesWith(t, askingLate(t))

	pods := c.placeAll(t, h, func(leader v1.Pod) {
		must(t, c.client.CoreV1().Pods(agentNamespace).Delete(t.Context(), leader.Name, metav1.DeleteOptions{}))
	})
	half := len(pods) / 2
	later := c.createQuarters(t, len(pods), len(pods)+half)
	for _, pod := range later {
		c.waitForUnschedulable(t, pod.Name)
	}
	begun := time.Now()
	c.deletePods(t, h, pods[:half])

	h.expectPlaced(t, slices.Concat(pods[half:], later))
	fmt.Printf("measured a watch that is %.0f s behind: %d pods run %.1f s after others have begun to end\n",
		lateBy.Seconds(), half, time.Since(begun).Seconds())
	equal(t, "late watches of two kinds for each of three replicas", watches.Load() >= 6, true)
}
