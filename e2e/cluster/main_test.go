// SPDX-License-Identifier: Apache-2.0

// Package cluster tests the shipped binary and the manifests of deploy/ in a whole cluster of one
// node. The cluster has etcd, Kubernetes' API server, scheduler and controllers, kubelet,
// containerd and runc.
//
// The tests run three processes deep. The outermost process makes the cgroup folders, which belong
// to no namespace, and removes them. It starts the first process of new namespaces (mounts,
// processes, network, host name). The first process makes a file system in memory the root and
// reaps orphans. It starts the tests, and the tests start the cluster. When the first process ends
// for any reason, the kernel ends all others, and drops mounts, links and files with the
// namespaces.
package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"time"

	"tessera/e2e/nvidia"
)

const (
	stageVariable    = "TESSERA_E2E_STAGE"
	binaryVariable   = "TESSERA"              // the release binary
	programsVariable = "TESSERA_E2E_PROGRAMS" // the folder with node, pause, containerd, ...
	deployVariable   = "TESSERA_E2E_DEPLOY"   // the folder deploy/
	logsVariable     = "TESSERA_E2E_LOGS"     // the folder for the logs of all programs
	mpsVariable      = "TESSERA_E2E_MPS"      // stands in for NVIDIA's MPS programs
	cudaVariable     = "TESSERA_E2E_CUDA"     // the fake libcuda.so.1
	limiterVariable  = "TESSERA_E2E_LIMITER"  // libvgpu.so
	spinVariable     = "TESSERA_E2E_SPIN"     // spin, a program that uses GPUs
	simVariable      = "TESSERA_E2E_SIM"      // tessera-sim

	schedulerVariable = "TESSERA_E2E_SCHEDULER" // tessera-scheduler
)

func TestMain(m *testing.M) {
	switch os.Getenv(stageVariable) {
	case "":
		os.Exit(runOutside())
	case "first":
		os.Exit(runFirst())
	default:
		os.Exit(runTests(m))
	}
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, "e2e/cluster:", err)
	return 1
}

// runOutside runs the first process of the namespaces, and removes the cgroup folders after it.
func runOutside() int {
	if err := whatIsMissing(); err != nil {
		fmt.Println("skipped the tests of a whole cluster:", err)
		return 1
	}
	removeLeftFolders()
	folder := fmt.Sprintf("%s%d", folderPrefix, os.Getpid())
	defer removeFolders(folder)
	if err := makeFolders(folder); err != nil {
		fmt.Println("skipped the tests of a whole cluster:", err)
		return 1
	}

	// A signal kills the first process and thereby the whole cluster. The folders can be removed
	// only after that.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	runtime.LockOSThread() // the kernel kills the child when this thread ends
	command := exec.Command("/proc/self/exe", os.Args[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.Env = append(os.Environ(), stageVariable+"=first", folderVariable+"="+folder)
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET |
			syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Pdeathsig: syscall.SIGKILL,
		Setpgid:   true,
	}
	if err := command.Start(); err != nil {
		fmt.Println("skipped the tests of a whole cluster: this machine makes no namespaces:", err)
		return 1
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case <-ended:
		return command.ProcessState.ExitCode()
	case got := <-signals:
		command.Process.Kill()
		<-ended
		// The deferred removal does not run if the signal ends this process.
		removeFolders(folder)
		// This process ends by the same signal, so that its parent sees the interruption and stops
		// as well.
		signal.Reset()
		syscall.Kill(os.Getpid(), got.(syscall.Signal))
		<-time.After(time.Second)
		return 128 + int(got.(syscall.Signal))
	}
}

// whatIsMissing returns the reason why no cluster can run here, or nil.
func whatIsMissing() error {
	if os.Geteuid() != 0 {
		return errors.New("they need root, for namespaces and cgroups; run tools/e2e")
	}
	for _, variable := range []string{binaryVariable, programsVariable, deployVariable, logsVariable,
		mpsVariable, cudaVariable, limiterVariable, spinVariable, simVariable, schedulerVariable, nvidia.LibraryVariable,
		nvidia.HardwareVariable} {
		if path := os.Getenv(variable); path == "" {
			return fmt.Errorf("%s is not set; run tools/e2e", variable)
		} else if _, err := os.Stat(path); err != nil {
			return err
		}
	}
	for _, program := range []string{"runc", "ip", "busybox", "setpriv", pluginsDirectory + "/bridge"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%w; run tools/setup e2e", err)
		}
	}
	if len(hierarchies()) == 0 {
		return errors.New("there is no cgroup hierarchy with the memory controller below /sys/fs/cgroup")
	}
	return nil
}

// runFirst is the first process of the namespaces. It makes their root, starts the tests, and reaps
// orphans until the tests end.
func runFirst() int {
	if err := makeRoot(); err != nil {
		return complain(err)
	}
	os.Setenv(stageVariable, "tests")
	os.Setenv(nvidia.LibraryVariable, libraryPath)
	os.Setenv(nvidia.HardwareVariable, hardwareDirectory)
	tests, err := syscall.ForkExec("/proc/self/exe", os.Args, &syscall.ProcAttr{
		Dir:   "/",
		Env:   os.Environ(),
		Files: []uintptr{0, 1, 2},
	})
	if err != nil {
		return complain(err)
	}
	for {
		var status syscall.WaitStatus
		switch pid, err := syscall.Wait4(-1, &status, 0, nil); {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return complain(err)
		case pid == tests && status.Exited():
			return status.ExitStatus()
		case pid == tests:
			return 128 + int(status.Signal())
		}
	}
}

func runTests(m *testing.M) int {
	status := m.Run()
	if shared.cluster != nil {
		shared.cluster.stop()
	}
	return status
}
