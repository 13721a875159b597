// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// service is the agent as a service of the host, installed as deploy/README.md says and run as
// systemd does.
type service struct {
	cluster *cluster
	command []string
}

// installService installs and starts the service. The test's end stops it, and removes its state
// and all pods.
func (c *cluster) installService(t *testing.T) *service {
	t.Helper()
	for from, to := range map[string]string{
		binaryPath: "/usr/bin/tessera",
		tlsPath:    "/usr/lib/tessera/" + tlsName,
		filepath.Join(deployDirectory, "examples/config.yaml"): "/etc/tessera/tessera.yaml",
		filepath.Join(deployDirectory, "tessera.service"):      "/etc/systemd/system/tessera.service",
	} {
		content, err := os.ReadFile(from)
		must(t, err)
		must(t, os.MkdirAll(filepath.Dir(to), 0o755))
		must(t, os.WriteFile(to, content, 0o755))
	}
	unit, err := os.ReadFile("/etc/systemd/system/tessera.service")
	must(t, err)
	s := &service{cluster: c}
	for line := range strings.Lines(string(unit)) {
		if command, found := strings.CutPrefix(line, "ExecStart="); found {
			s.command = strings.Fields(command)
		}
	}
	t.Cleanup(func() { must(t, os.RemoveAll(agentState)) })
	must(t, s.start())
	t.Cleanup(func() {
		c.processes["service"].end(syscall.SIGTERM)
		delete(c.processes, "service")
	})
	t.Cleanup(func() { must(t, c.removePods(context.Background())) })
	return s
}

// start runs the service with the rights that its unit leaves it. It waits for the service's
// READY=1, as systemd does before it starts kubelet.
func (s *service) start() error {
	for _, directory := range []string{"/run/tessera", agentState} {
		if err := os.MkdirAll(directory, 0o750); err != nil {
			return err
		}
	}
	const address = "/e2e/notify.sock"
	os.Remove(address)
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer socket.Close()
	arguments := append([]string{"--bounding-set=-all", "--no-new-privs", "--"}, s.command...)
	p, err := startProcessWith([]string{"NOTIFY_SOCKET=" + address}, "service", arguments...)
	if err != nil {
		return err
	}
	s.cluster.processes["service"] = p
	if err := socket.SetReadDeadline(time.Now().Add(patient)); err != nil {
		return err
	}
	for buffer := make([]byte, 4096); ; {
		n, err := socket.Read(buffer)
		if err != nil {
			return fmt.Errorf("the service does not say that it is ready: %w", err)
		}
		for line := range strings.Lines(string(buffer[:n])) {
			if strings.TrimSpace(line) == "READY=1" {
				return nil
			}
		}
	}
}
