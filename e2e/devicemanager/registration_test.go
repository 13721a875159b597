// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// watched makes the agent register through kubelet's plugin watcher, and not by a call of
// kubelet.sock.
const watched = "kubelet:\n  registration: plugin-watcher\n"

// waitForWay waits until the agent's last registration used this way.
func (a *agent) waitForWay(path string) {
	a.t.Helper()
	eventually(a.t, func() error {
		said := strings.Split(a.log.String(), "INFO registered resource="+npu+" via=")
		if way, _, _ := strings.Cut(said[len(said)-1], " "); way != path {
			return fmt.Errorf("registered through %q, not %s", way, path)
		}
		return nil
	})
}

// restartWith restarts the agent with another configuration.
func (k *kubelet) restartWith(a *agent, rest string) {
	k.t.Helper()
	a.configure(rest)
	equal(k.t, "exit status", a.stop(), 0)
	k.waitFor("0 of 64")
	a.start()
}

func TestAPodKeepsItsDevicesWhenTheAgentMovesToThePluginWatcherAndBack(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus)
	k.waitFor("64 of 64")
	pod, ids := startPod(t, k, "survivor", 2)
	a.waitForWay("kubelet-socket")

	k.restartWith(a, npus+watched)
	a.waitForWay("plugin-watcher")
	k.waitFor("64 of 64")
	equal(t, "devices after the move", expectStarts(t, k, pod, 2), ids)
	other, _ := startPod(t, k, "other", 62)
	k.pods.remove(other)

	k.restartWith(a, npus)
	a.waitForWay("kubelet-socket")
	k.waitFor("64 of 64")
	equal(t, "devices after the way back", expectStarts(t, k, pod, 2), ids)
	_, rest := startPod(t, k, "rest", 62)
	equal(t, "devices of another", rest, numbers(2, 63))
}

func TestAReloadDoesNotMoveTheAgentAndSaysSo(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus)
	k.waitFor("64 of 64")
	startPod(t, k, "survivor", 2)

	a.configure(npus + watched)
	a.waitToSay("kubelet.registration stays 'auto' until the agent is restarted; the configuration now " +
		"says 'plugin-watcher'")
	a.waitToSay("configuration reloaded")

	a.expectRegistered(1)
	k.expectServed(t, a)
}

func TestAnUpdateMayMoveTheAgentToThePluginWatcher(t *testing.T) {
	k := startKubelet(t)
	old := k.startAgent(npus)
	k.waitFor("64 of 64")
	startPod(t, k, "survivor", 2)

	old.configure(npus + watched)
	next := k.beside(old)
	equal(t, "exit status", old.stop(), 0)
	// kubelet closes the connection to the new agent, as in every update.
	next.waitToSay("kubelet hung up")
	next.waitToSay("INFO registered resource="+npu, 2)

	next.waitForWay("plugin-watcher")
	k.expectServed(t, next)
}

func TestACrashedAgentComesBackThroughThePluginWatcher(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus + watched)
	k.waitFor("64 of 64")
	startPod(t, k, "survivor", 2)

	a.kill()
	k.waitFor("0 of 64")
	a.start()

	k.expectServed(t, a)
	equal(t, "number of sockets", len(filesIn(t, filepath.Join(kubeletRoot, "plugins_registry"))), 1)
}
