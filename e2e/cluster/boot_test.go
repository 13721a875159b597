// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
)

// A file stands in for the kernel's boot id, on the node and in every container. So the tests can
// "boot" the node alone.
const (
	bootIDFile     = "/e2e/boot_id"
	bootIDOfKernel = "/proc/sys/kernel/random/boot_id"
)

func newBootID() error {
	return os.WriteFile(bootIDFile, []byte(string(uuid.NewUUID())+"\n"), 0o444)
}

// boot ends the node like a power failure and starts it again. It runs first before the node's
// programs, and leaves the control plane running, as on machines of its own.
func (c *cluster) boot(first func() error) error {
	return inOrder(
		c.killNode,
		dropMounts,
		func() error { return emptyDirectory("/run") },
		removeContainerFolders,
		newBootID,
		first,
		c.startContainerd,
		c.startKubelet,
	)
}

// killNode kills all processes of this PID namespace except the control plane, the test and the
// namespace's first process. It repeats until all are gone.
func (c *cluster) killNode() error {
	spared := []int{1, os.Getpid()}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		spared = append(spared, c.processes[name].command.Process.Pid)
	}
	deadline := time.Now().Add(patient)
	for ; ; time.Sleep(5 * time.Millisecond) {
		left := 0
		entries, err := os.ReadDir("/proc")
		if err != nil {
			return err
		}
		for _, entry := range entries {
			pid, err := strconv.Atoi(entry.Name())
			if err == nil && !slices.Contains(spared, pid) {
				left++
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if left == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes of the node do not end", left)
		}
	}
}

// dropMounts removes the mounts of kubelet and containerd, the latest first.
func dropMounts() error {
	content, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	for _, line := range slices.Backward(strings.Split(strings.TrimSpace(string(content)), "\n")) {
		path := strings.Fields(line)[1]
		if strings.HasPrefix(path, "/run/") || strings.HasPrefix(path, "/var/lib/kubelet/") {
			if err := syscall.Unmount(path, syscall.MNT_DETACH); err != nil {
				return fmt.Errorf("unmounting %s: %w", path, err)
			}
		}
	}
	return nil
}

func emptyDirectory(path string) error {
	entries, err := os.ReadDir(path)
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(path, entry.Name())))
	}
	return err
}

func removeContainerFolders() error {
	var failed error
	for _, hierarchy := range hierarchies() {
		folders, err := filepath.Glob(filepath.Join(hierarchy, os.Getenv(folderVariable), "*"))
		failed = errors.Join(failed, err)
		for _, folder := range folders {
			if about, err := os.Stat(folder); err == nil && about.IsDir() {
				failed = errors.Join(failed, removeFolder(folder))
			}
		}
	}
	return failed
}
