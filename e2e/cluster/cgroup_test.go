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
)

const (
	cgroupRoot     = "/sys/fs/cgroup"
	folderVariable = "TESSERA_E2E_CGROUP" // the name of this run's folder, in each hierarchy
	folderPrefix   = "tessera-e2e-"       // followed by the outermost process's id
)

// hierarchies returns the mounted cgroup file systems: several in version 1, one in version 2. It
// returns none if the memory controller is missing.
func hierarchies() []string {
	if controllers, err := os.ReadFile(cgroupRoot + "/cgroup.controllers"); err == nil {
		if slices.Contains(strings.Fields(string(controllers)), "memory") {
			return []string{cgroupRoot}
		}
		return nil
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil
	}
	var found []string
	var memory bool
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if below := strings.HasPrefix(fields[1], cgroupRoot); below && strings.HasPrefix(fields[2], "cgroup") {
			found = append(found, fields[1])
			memory = memory || slices.Contains(strings.Split(fields[3], ","), "memory")
		}
	}
	if !memory {
		return nil
	}
	return found
}

func makeFolders(name string) error {
	for _, hierarchy := range hierarchies() {
		folder := filepath.Join(hierarchy, name)
		if err := os.Mkdir(folder, 0o755); err != nil {
			return fmt.Errorf("making a cgroup folder: %w", err)
		}
		prepare := inheritProcessors
		if hierarchy == cgroupRoot {
			prepare = passOnControllers
		}
		if err := prepare(hierarchy, folder); err != nil {
			return fmt.Errorf("preparing a cgroup folder: %w", err)
		}
	}
	return nil
}

// inheritProcessors copies the parent's CPUs and memory nodes to the folder. In version 1 a new
// folder has none, and no process could enter it.
func inheritProcessors(hierarchy, folder string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		allowed, err := os.ReadFile(filepath.Join(hierarchy, file))
		if err != nil {
			continue // this hierarchy has no cpuset controller
		}
		if err := os.WriteFile(filepath.Join(folder, file), allowed, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// passOnControllers passes all controllers on to the folder and its children: in version 2 each
// parent must do so.
func passOnControllers(hierarchy, folder string) error {
	controllers, err := os.ReadFile(filepath.Join(hierarchy, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, path := range []string{hierarchy, folder} {
		for _, controller := range strings.Fields(string(controllers)) {
			file := filepath.Join(path, "cgroup.subtree_control")
			if err := os.WriteFile(file, []byte("+"+controller), 0o644); err != nil {
				return fmt.Errorf("%s: %w", controller, err)
			}
		}
	}
	return nil
}

// removeFolders removes a run's folders with all folders below them. The kernel refuses to remove a
// folder while a process is in it, so removeFolders retries for five seconds.
func removeFolders(name string) {
	for _, hierarchy := range hierarchies() {
		root := filepath.Join(hierarchy, name)
		for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if err := removeFolder(root); err == nil || time.Now().After(deadline) {
				if err != nil {
					complain(err)
				}
				break
			}
		}
	}
}

func removeFolder(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeFolder(filepath.Join(path, entry.Name())); err != nil {
				return err
			}
		}
	}
	return syscall.Rmdir(path)
}

// removeLeftFolders removes the folders of runs that were killed: their outermost process no longer
// exists.
func removeLeftFolders() {
	for _, hierarchy := range hierarchies() {
		left, _ := filepath.Glob(filepath.Join(hierarchy, folderPrefix+"*"))
		for _, path := range left {
			pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(path), folderPrefix))
			if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
				removeFolder(path)
			}
		}
	}
}
