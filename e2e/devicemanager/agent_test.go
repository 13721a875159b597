// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// settings are common to all agents of these tests: short intervals, and files of their own.
const settings = `version: tessera/v1
state:
  dir: DIRECTORY/state
control:
  socket: DIRECTORY/agent.sock
http:
  address: "off"
health:
  recovery: 1s
  checkInterval: 200ms
ledger:
  interval: 1s
`

// npus serves 64 NPUs, the usual devices of these tests.
const npus = `resources:
  - name: dummy.com/npu
    dummy:
      count: 64
`

// agent is the shipped binary in a process of its own.
type agent struct {
	t         *testing.T
	directory string // holds its configuration, state and control socket
	log       text
	command   *exec.Cmd
	ended     chan struct{} // closed when the process has ended
	meant     atomic.Bool   // the test lets the process end
}

// startAgent starts an agent with the common settings and the rest of its configuration. DIRECTORY
// in them stands for the agent's own directory. The test's end kills the agent.
func (k *kubelet) startAgent(rest string) *agent {
	k.t.Helper()
	a := k.newAgent(k.t.TempDir())
	a.configure(rest)
	a.start()
	return a
}

// newAgent makes an agent with the files of a directory, and does not start it. During an update
// two agents share one directory.
func (k *kubelet) newAgent(directory string) *agent {
	t := k.t
	a := &agent{t: t, directory: directory, ended: make(chan struct{})}
	close(a.ended)
	a.meant.Store(true)
	k.agents = append(k.agents, a)
	t.Cleanup(func() {
		a.kill()
		if t.Failed() {
			t.Logf("the agent's log:\n%s", a.log.take())
		}
	})
	return a
}

// configure replaces the configuration atomically, as a ConfigMap does.
func (a *agent) configure(rest string) {
	a.t.Helper()
	text := strings.ReplaceAll(settings+rest, "DIRECTORY", a.directory)
	must(a.t, os.WriteFile(a.path("next.yaml"), []byte(text), 0o600))
	must(a.t, os.Rename(a.path("next.yaml"), a.path("config.yaml")))
}

func (a *agent) path(name string) string { return filepath.Join(a.directory, name) }

func (a *agent) start() {
	a.t.Helper()
	a.startAs(func(*exec.Cmd) {})
}

// startAs starts the agent's command after an edit.
func (a *agent) startAs(change func(*exec.Cmd)) {
	a.t.Helper()
	a.command = exec.Command(os.Getenv(binaryVariable), "agent", "--config", a.path("config.yaml"))
	a.command.Stdout, a.command.Stderr = &a.log, &a.log
	change(a.command)
	must(a.t, startChild(a.command))
	a.meant.Store(false)
	a.ended = make(chan struct{})
	go func(command *exec.Cmd, ended chan struct{}) {
		command.Wait()
		close(ended)
	}(a.command, a.ended)
}

// expectAlive fails the test at once if the agent ended by itself.
func (a *agent) expectAlive() {
	a.t.Helper()
	select {
	case <-a.ended:
		if !a.meant.Load() {
			a.t.Fatalf("the agent ended: %v", a.command.ProcessState)
		}
	default:
	}
}

// kill ends the agent like a crash.
func (a *agent) kill() {
	a.meant.Store(true)
	if a.command != nil {
		a.command.Process.Kill()
	}
	<-a.ended
}

// stop ends the agent as a node's service manager does, and returns its exit status.
func (a *agent) stop() int {
	a.t.Helper()
	a.meant.Store(true)
	must(a.t, a.command.Process.Signal(syscall.SIGTERM))
	select {
	case <-a.ended:
	case <-time.After(patient):
		a.t.Fatal("the agent does not stop on SIGTERM")
	}
	return a.command.ProcessState.ExitCode()
}

// dial connects to the agent's control socket. During an update this is the older agent's socket at
// first.
func (a *agent) dial() (net.Conn, error) { return net.Dial("unix", a.path("agent.sock")) }

// waitForControl waits until the control socket accepts connections. That may be later than
// kubelet's list of devices.
func (a *agent) waitForControl() {
	a.t.Helper()
	eventually(a.t, func() error {
		connection, err := a.dial()
		if err == nil {
			connection.Close()
		}
		return err
	})
}

// tessera runs a tessera command for the agent and returns its output.
func (a *agent) tessera(arguments ...string) string {
	a.t.Helper()
	a.waitForControl()
	arguments = append(arguments, "--control", a.path("agent.sock"))
	output, err := exec.Command(os.Getenv(binaryVariable), arguments...).CombinedOutput()
	if err != nil {
		a.t.Fatalf("tessera %s: %v: %s", strings.Join(arguments, " "), err, output)
	}
	return string(output)
}

// fault changes the faults of dummy devices, and waits until the agent has read them.
func (a *agent) fault(arguments ...string) {
	a.t.Helper()
	const read = "the fault file counts"
	before := a.log.count(read)
	arguments = append([]string{"fault", "--state-dir", a.path("state")}, arguments...)
	sim := filepath.Join(filepath.Dir(os.Getenv(binaryVariable)), "tessera-sim")
	output, err := exec.Command(sim, arguments...).CombinedOutput()
	if err != nil {
		a.t.Fatalf("tessera-sim %s: %v: %s", strings.Join(arguments, " "), err, output)
	}
	a.waitToSay(read, before+1)
}

// page returns a page of the agent's control socket.
func (a *agent) page(path string) string {
	a.t.Helper()
	a.waitForControl()
	dial := func(context.Context, string, string) (net.Conn, error) { return a.dial() }
	client := http.Client{
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
		Timeout:   patient,
	}
	response, err := client.Get("http://agent" + path)
	must(a.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(a.t, err)
	return string(body)
}

// metrics returns the agent's metrics that begin with this text, with their values.
func (a *agent) metrics(beginning string) []string {
	a.t.Helper()
	var found []string
	for line := range strings.Lines(a.page("/metrics")) {
		if strings.HasPrefix(line, beginning) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// waitToSay waits until the agent's log has the text, once or this often.
func (a *agent) waitToSay(text string, times ...int) {
	a.t.Helper()
	wanted := 1
	if len(times) > 0 {
		wanted = times[0]
	}
	eventually(a.t, func() error {
		if so := a.log.count(text); so < wanted {
			return fmt.Errorf("the agent said %q %d times, not %d", text, so, wanted)
		}
		return nil
	})
}
