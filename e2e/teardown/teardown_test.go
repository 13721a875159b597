// SPDX-License-Identifier: Apache-2.0

// Package teardown tests that a killed run of e2e/cluster leaves no process, and therefore no
// mount, link or file of its namespaces. Its cgroup folders must be gone after the next run.
package teardown

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"tessera/e2e/check"
)

const (
	patient       = 5 * time.Minute
	testWithPods  = "^Test32PodsShareAllDevicesAndThe33rdRunsWhenOneHasEnded$"
	noTest        = "^$"
	cgroupsOfRuns = "/sys/fs/cgroup"
)

var must = check.Must

// clusterTests returns a command that runs these tests of e2e/cluster, whose program is next to
// this one. Its logs are kept apart from those of the real run. Its output is printed only if this
// test fails.
func clusterTests(t *testing.T, names string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	run := exec.Command(filepath.Join(filepath.Dir(self), "cluster.test"), "-test.run", names)
	run.Env = append(os.Environ(), "TESSERA_E2E_LOGS="+t.TempDir())
	run.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var output bytes.Buffer
	run.Stdout, run.Stderr = &output, &output
	t.Cleanup(func() {
		if run.Process != nil && run.ProcessState == nil {
			run.Process.Kill()
			run.Wait()
		}
		if t.Failed() {
			t.Logf("%s", &output)
		}
	})
	return run
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patient); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("waited too long until ", what)
		}
	}
}

// foldersOf returns the cgroup folders of a run: one, or one in each hierarchy of version 1.
func foldersOf(run *exec.Cmd) []string {
	name := fmt.Sprintf("tessera-e2e-%d", run.Process.Pid)
	both, _ := filepath.Glob(filepath.Join(cgroupsOfRuns, name))
	each, _ := filepath.Glob(filepath.Join(cgroupsOfRuns, "*", name))
	return append(both, each...)
}

// processesOfPods returns the processes in cgroups below the run's folders, where the pods are.
func processesOfPods(run *exec.Cmd) (found []string) {
	for _, folder := range foldersOf(run) {
		filepath.WalkDir(folder, func(path string, _ fs.DirEntry, _ error) error {
			if filepath.Base(path) == "cgroup.procs" {
				processes, _ := os.ReadFile(path)
				found = append(found, strings.Fields(string(processes))...)
			}
			return nil
		})
	}
	return found
}

// processesIn returns the processes of a PID namespace.
func processesIn(namespace string) (found []string) {
	links, _ := filepath.Glob("/proc/[0-9]*/ns/pid")
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == namespace {
			found = append(found, link)
		}
	}
	return found
}

// namespaceOf returns the PID namespace of the run's first process.
func namespaceOf(t *testing.T, run *exec.Cmd) string {
	t.Helper()
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", run.Process.Pid))
	for _, link := range links {
		children, _ := os.ReadFile(link)
		for _, child := range strings.Fields(string(children)) {
			namespace, err := os.Readlink("/proc/" + child + "/ns/pid")
			must(t, err)
			return namespace
		}
	}
	t.Fatal("the run has no first process")
	return ""
}

func TestARunThatIsKilledWhilePodsRunLeavesNothingBehind(t *testing.T) {
	runtime.LockOSThread() // the kernel kills the child when this thread ends
	run := clusterTests(t, testWithPods)
	must(t, run.Start())
	eventually(t, "a pod runs", func() bool { return len(processesOfPods(run)) > 0 })
	namespace := namespaceOf(t, run)

	must(t, run.Process.Kill())
	run.Wait()

	eventually(t, "no process is left", func() bool {
		return len(processesIn(namespace))+len(processesOfPods(run)) == 0
	})
	must(t, clusterTests(t, noTest).Run())
	check.Equal(t, "cgroup folders after the next run", len(foldersOf(run)), 0)
}
