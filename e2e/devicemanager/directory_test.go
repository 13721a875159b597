// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

const checkpointFile = "kubelet_internal_checkpoint"

func pluginDirectory() string { return filepath.Join(kubeletRoot, "device-plugins") }

func filesIn(t *testing.T, directory string) []string {
	t.Helper()
	entries, err := os.ReadDir(directory)
	must(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// wipe removes the files of a directory except the kept ones, and returns their names. The agent
// must not change its own files at the same time.
func wipe(t *testing.T, directory string, kept ...string) []string {
	t.Helper()
	var gone []string
	for _, name := range filesIn(t, directory) {
		if !slices.Contains(kept, name) {
			must(t, os.Remove(filepath.Join(directory, name)))
			gone = append(gone, name)
		}
	}
	return gone
}

// discard removes a directory. It renames it first, so that no program can add files during the
// removal.
func discard(t *testing.T, directory string) {
	t.Helper()
	gone := directory + ".gone"
	must(t, os.Rename(directory, gone))
	must(t, os.RemoveAll(gone))
}

// replacePluginDirectory replaces kubelet's plugin directory by a new one with the same checkpoint.
func replacePluginDirectory(t *testing.T) {
	t.Helper()
	path := filepath.Join(pluginDirectory(), checkpointFile)
	accounting, err := os.ReadFile(path)
	must(t, err)
	discard(t, pluginDirectory())
	must(t, os.Mkdir(pluginDirectory(), 0o750))
	must(t, os.WriteFile(path, accounting, 0o600))
}

func TestAnAgentWhoseSocketWasRemovedRegistersWithAnother(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus)
	k.waitFor("64 of 64")
	pod, ids := startPod(t, k, "survivor", 2)

	gone := wipe(t, pluginDirectory(), "kubelet.sock", checkpointFile)
	a.waitToSay("socket was removed")
	k.waitForRegistrations(2)
	k.waitForOneStream()

	k.waitFor("64 of 64")
	equal(t, "devices of the pod", expectStarts(t, k, pod, 2), ids)
	_, rest := startPod(t, k, "rest", 62)
	equal(t, "devices of another", rest, numbers(2, 63))
	files := filesIn(t, pluginDirectory())
	equal(t, "number of files", len(files), 3)
	equal(t, "number of sockets removed", len(gone), 1)
	equal(t, "the old name is used again", slices.Contains(files, gone[0]), false)
}

func TestTheAgentComesBackWithKubeletAfterAllFilesAreGone(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus)
	k.waitFor("64 of 64")

	wipe(t, pluginDirectory())
	a.waitToSay("waiting for kubelet")
	k.stop()
	k.start()

	k.waitFor("64 of 64")
	_, ids := startPod(t, k, "all", 64)
	equal(t, "devices of a pod", ids, numbers(0, 63))
}

func TestAPodKeepsItsDevicesWhenTheDirectoryIsReplaced(t *testing.T) {
	k := startKubelet(t)
	k.startAgent(npus)
	k.waitFor("64 of 64")
	pod, ids := startPod(t, k, "survivor", 2)

	k.stop()
	replacePluginDirectory(t)
	k.start()

	k.waitFor("64 of 64")
	equal(t, "devices of the pod", expectStarts(t, k, pod, 2), ids)
	_, rest := startPod(t, k, "rest", 62)
	equal(t, "devices of another", rest, numbers(2, 63))
}

func TestAPodKeepsItsDevicesWhenTheRegistryIsReplaced(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus + watched)
	k.waitFor("64 of 64")
	startPod(t, k, "survivor", 2)

	k.stop()
	discard(t, filepath.Join(kubeletRoot, "plugins_registry"))
	a.waitToSay("cannot serve")
	k.start()

	k.expectServed(t, a)
}

func TestAnAgentWhoseSocketInTheRegistryWasRemovedPutsAnotherThere(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus + watched)
	k.waitFor("64 of 64")
	startPod(t, k, "survivor", 2)

	gone := wipe(t, filepath.Join(kubeletRoot, "plugins_registry"))
	equal(t, "number of sockets removed", len(gone), 1)
	a.waitToSay("socket was removed")
	a.waitToSay("INFO registered resource="+npu, 2)

	k.expectServed(t, a)
}

// startMounted starts the agent as in a container: kubelet's directories are mounts at other paths.
func (k *kubelet) startMounted(a *agent) {
	k.t.Helper()
	inside := filepath.Join(kubeletRoot, "inside") // sockets need a short path
	var script strings.Builder
	for _, name := range []string{"device-plugins", "pod-resources", "plugins_registry"} {
		must(k.t, os.MkdirAll(filepath.Join(inside, name), 0o750))
		script.WriteString("mount --bind " + filepath.Join(kubeletRoot, name) + " " +
			filepath.Join(inside, name) + " && ")
	}
	a.startAs(func(command *exec.Cmd) {
		command.Args = append([]string{"sh", "-c", script.String() + `exec "$0" "$@"`}, command.Args...)
		command.Path = "/bin/sh"
		command.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	})
}

func TestAnAgentInAContainerEndsWhenItsMountedDirectoryIsReplacedAndTheNextOneServes(t *testing.T) {
	k := startKubelet(t)
	a := k.newAgent(t.TempDir())
	a.configure(npus + "kubelet:\n  root: " + kubeletRoot + "/inside\n")
	k.startMounted(a)
	k.waitFor("64 of 64")
	pod, ids := startPod(t, k, "survivor", 2)

	a.meant.Store(true)
	k.stop()
	replacePluginDirectory(t)
	k.start()
	a.waitToSay("reason=directory-gone")
	<-a.ended
	equal(t, "exit status", a.command.ProcessState.ExitCode(), 1)

	k.startMounted(a)
	k.waitFor("64 of 64")
	equal(t, "devices of the pod", expectStarts(t, k, pod, 2), ids)
}
