// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"fmt"
	"strings"
	"testing"
)

// watched makes the agent put its socket where kubelet's plugin watcher looks, and not call
// kubelet.sock.
const watched = "kubelet:\n  registration: plugin-watcher\n"

// expectVia checks how the agent that runs has made itself known.
func (a *agent) expectVia(t *testing.T, path string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(a.log.String()), "\n")
	var last string
	for _, line := range lines {
		if _, rest, found := strings.Cut(line, "INFO registered resource="+npu+" via="); found {
			last, _, _ = strings.Cut(rest, " ")
		}
	}
	equal(t, "way of the last registration", last, path)
}

// restartWith restarts the agent with another configuration.
func (a *agent) restartWith(rest string) {
	a.t.Helper()
	a.configure(rest)
	equal(a.t, "exit status", a.stop(), 0)
	a.start()
}

func TestAPodKeepsItsDevicesWhenTheAgentMovesToThePluginWatcherAndBack(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus)
	k.waitFor("64 of 64")
	pod, ids := startPod(t, k, "survivor", 2)
	a.expectVia(t, "kubelet-socket")

	a.restartWith(npus + watched)
	k.waitFor("0 of 64")
	k.waitFor("64 of 64")
	a.expectVia(t, "plugin-watcher")
	equal(t, "devices after the move", expectStarts(t, k, pod, 2), ids)
	other, _ := startPod(t, k, "other", 62)
	k.pods.remove(other)

	a.restartWith(npus)
	k.waitFor("0 of 64")
	k.waitFor("64 of 64")
	a.expectVia(t, "kubelet-socket")
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

	equal(t, "registrations", a.metrics("tessera_registrations_total"),
		[]string{fmt.Sprintf(`tessera_registrations_total{resource="%s",code="ok"} 1`, npu)})
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
	// kubelet hangs up on the new one, as in every update.
	next.waitToSay("kubelet hung up")
	k.waitForRegistered(next, 2)

	next.expectVia(t, "plugin-watcher")
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
}
