// SPDX-License-Identifier: Apache-2.0

// Package devicemanager tests the shipped binary against Kubernetes' own device manager. The
// manager, its plugin watcher and the pod-resources API run in the test's process. The agent runs
// in a process of its own.
//
// The path of kubelet's directory is a constant of Kubernetes. So the tests mount a temporary file
// system there, in a mount namespace of their own. They need root.
package devicemanager

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

const (
	kubeletRoot      = "/var/lib/kubelet"
	insideVariable   = "TESSERA_E2E_INSIDE"
	binaryVariable   = "TESSERA"
	fileSystemOfTest = "tessera-e2e"
)

func TestMain(m *testing.M) {
	if os.Getenv(insideVariable) == "" {
		os.Exit(runInNamespace())
	}
	if os.Getenv(killedVariable) != "" { // a test started this process in its namespace
		sendKubeletLogToTests()
		os.Exit(m.Run())
	}
	if err := enterNamespace(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	sendKubeletLogToTests()
	os.Exit(m.Run())
}

// runInNamespace runs this program again in a mount namespace of its own, and returns its status.
func runInNamespace() int {
	if os.Geteuid() != 0 {
		fmt.Println("skipped the tests of the device manager: they need root, for a mount namespace; run tools/e2e")
		return 1
	}
	remove, err := makeKubeletRoot()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer remove()
	command := exec.Command("/proc/self/exe", os.Args[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.Env = append(os.Environ(), insideVariable+"=1")
	command.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if err := startChild(command); err != nil {
		fmt.Println("skipped the tests of the device manager: this machine makes no mount namespace:", err)
		return 1
	}
	command.Wait()
	return command.ProcessState.ExitCode()
}

// makeKubeletRoot makes the mount point if it is missing, and returns the function that removes it.
// That function removes no directory while another run holds the shared lock, because the other
// run's mount would go with it.
func makeKubeletRoot() (remove func(), err error) {
	const shared, alone = syscall.LOCK_SH, syscall.LOCK_EX | syscall.LOCK_NB
	root, err := os.Open("/") // a lock needs an existing file
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(root.Fd()), shared); err != nil {
		return nil, fmt.Errorf("locking %s: %w", root.Name(), err)
	}
	made := missingDirectories(kubeletRoot)
	remove = func() {
		defer root.Close()
		if syscall.Flock(int(root.Fd()), alone) != nil {
			return
		}
		for _, directory := range made {
			os.Remove(directory)
		}
	}
	return remove, os.MkdirAll(kubeletRoot, 0o755)
}

// missingDirectories returns the directories that MkdirAll would make for path, the deepest first.
func missingDirectories(path string) []string {
	var missing []string
	for ; path != "/"; path = filepath.Dir(path) {
		if _, err := os.Stat(path); err == nil {
			break
		}
		missing = append(missing, path)
	}
	return missing
}

func enterNamespace() error {
	if binary := os.Getenv(binaryVariable); binary == "" {
		return fmt.Errorf("%s does not name the release binary; run tools/e2e", binaryVariable)
	} else if _, err := os.Stat(binary); err != nil {
		return err
	}
	if err := syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("making the mounts private: %w", err)
	}
	err := syscall.Mount(fileSystemOfTest, kubeletRoot, "tmpfs", syscall.MS_NOSUID, "mode=0755")
	if err != nil {
		return fmt.Errorf("mounting a file system on %s: %w", kubeletRoot, err)
	}
	return nil
}
