// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// agent is the shipped binary as a process of its own.
type agent struct {
	t         *testing.T
	directory string // its configuration, state and control socket
	log       text
	command   *exec.Cmd
	ended     chan struct{} // closed when the process has ended
	meant     atomic.Bool   // to end
}

// startAgent starts the agent with 64 dummy NPUs and quick health checks, and whatever else the
// configuration should say. It ends with the test.
func (k *kubelet) startAgent(also string) *agent {
	t := k.t
	t.Helper()
	a := &agent{t: t, directory: t.TempDir()}
	k.agent = a
	configuration := strings.ReplaceAll(`version: tessera/v1
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
resources:
  - name: dummy.com/npu
    dummy:
      count: 64
`, "DIRECTORY", a.directory)
	must(t, os.WriteFile(a.path("config.yaml"), []byte(configuration+also), 0o600))
	a.start()
	t.Cleanup(func() {
		a.kill()
		if t.Failed() {
			t.Logf("the agent's log:\n%s", a.log.take())
		}
	})
	return a
}

func (a *agent) path(name string) string { return filepath.Join(a.directory, name) }

func (a *agent) start() {
	a.t.Helper()
	a.command = exec.Command(os.Getenv(binaryVariable), "agent", "--config", a.path("config.yaml"))
	a.command.Stdout, a.command.Stderr = &a.log, &a.log
	a.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(a.t, a.command.Start())
	a.meant.Store(false)
	a.ended = make(chan struct{})
	go func(command *exec.Cmd, ended chan struct{}) {
		command.Wait()
		close(ended)
	}(a.command, a.ended)
}

// expectAlive fails the test at once when the agent ended by itself.
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

// kill ends the agent as a crash does.
func (a *agent) kill() {
	a.meant.Store(true)
	a.command.Process.Kill()
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

// tessera runs one of the commands that people use beside the agent.
func (a *agent) tessera(arguments ...string) string {
	a.t.Helper()
	arguments = append(arguments, "--control", a.path("agent.sock"))
	output, err := exec.Command(os.Getenv(binaryVariable), arguments...).CombinedOutput()
	if err != nil {
		a.t.Fatalf("tessera %s: %v: %s", strings.Join(arguments, " "), err, output)
	}
	return string(output)
}
