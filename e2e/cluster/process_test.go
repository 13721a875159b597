// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const logsDirectory = "/var/log/e2e"

// process is one of the cluster's programs. Its output goes to a log file. It belongs to one
// goroutine.
type process struct {
	name    string
	command *exec.Cmd
	ended   chan struct{} // closed when the process has ended
}

// startProcess starts one of the tests' own programs, or one of the machine's.
func startProcess(name string, arguments ...string) (*process, error) {
	return startProcessWith(nil, name, arguments...)
}

func startProcessWith(variables []string, name string, arguments ...string) (*process, error) {
	log, err := os.OpenFile(logOf(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{name: name, command: program(name, arguments...), ended: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = log, log
	p.command.Env = append(p.command.Env, variables...)
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.command.Wait()
		close(p.ended)
	}()
	return p, nil
}

// program returns the command for one of the tests' own programs, or for one of the machine's.
func program(name string, arguments ...string) *exec.Cmd {
	path := name
	switch name {
	case "service":
		path = "setpriv"
	case "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet":
		path = filepath.Join(programsDirectory, "node") // its own name selects one
	case "containerd", "ctr", "prometheus", "promtool":
		path = filepath.Join(programsDirectory, name)
	}
	command := exec.Command(path, arguments...)
	command.Args[0] = name
	command.Dir = "/"
	command.Env = []string{
		"PATH=" + programsDirectory + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/root",
		"TZ=UTC", // for the times in their logs
	}
	return command
}

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// end sends a signal and waits for the end. It kills a process that takes too long.
func (p *process) end(signal syscall.Signal) {
	if p == nil {
		return
	}
	p.command.Process.Signal(signal)
	select {
	case <-p.ended:
	case <-time.After(patient):
		p.command.Process.Kill()
		<-p.ended
	}
}

// becomes waits until check returns nil. It returns an error if the process ends, or check's last
// error at the limit.
func (p *process) becomes(state string, check func(context.Context) error) error {
	err := waitUntil(patient, func(ctx context.Context) error {
		if !p.running() {
			return nil
		}
		return check(ctx)
	})
	if !p.running() {
		return fmt.Errorf("%s ended: %v", p.name, p.command.ProcessState)
	}
	if err != nil {
		return fmt.Errorf("%s is not %s: %w", p.name, state, err)
	}
	return nil
}

// waitUntil repeats check until it returns nil or the limit has passed. The context ends later than
// the limit, so that the last error describes the state and not the timeout.
func waitUntil(limit time.Duration, check func(context.Context) error) error {
	deadline := time.Now().Add(limit)
	ctx, cancel := context.WithDeadline(context.Background(), deadline.Add(10*time.Second))
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		if err := check(ctx); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

func logOf(name string) string { return filepath.Join(logsDirectory, name+".log") }
