// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

// killedVariable makes this program run only TestKubeletToBeKilled. A test starts it again with the
// variable, because a kubelet that can be killed needs a process of its own.
const killedVariable = "TESSERA_E2E_KILLED_KUBELET"

// TestKubeletToBeKilled is no test by itself: it admits a pod and waits until a test kills it.
func TestKubeletToBeKilled(t *testing.T) {
	if os.Getenv(killedVariable) == "" {
		t.Skip("the tests of a killed kubelet run it")
	}
	k := startKubelet(t)
	io.WriteString(os.Stdout, "started\n")
	k.waitFor("64 of 64")
	_, ids := startPod(t, k, "survivor", 2)
	io.WriteString(os.Stdout, "holds "+strings.Join(ids, ",")+"\n")
	io.Copy(io.Discard, os.Stdin) // until it is killed
}

// killKubeletWithPod runs a kubelet that admits the pod "survivor", and kills it. It returns the
// agent and the pod's ids.
func (k *kubelet) killKubeletWithPod(rest string) (a *agent, ids []string) {
	t := k.t
	t.Helper()
	command := exec.Command("/proc/self/exe", "-test.run", "^TestKubeletToBeKilled$")
	command.Env = append(os.Environ(), killedVariable+"=1")
	stdin, err := command.StdinPipe()
	must(t, err)
	defer stdin.Close()
	stdout, err := command.StdoutPipe()
	must(t, err)
	must(t, startChild(command))
	defer command.Wait()
	defer command.Process.Kill()

	lines := bufio.NewScanner(stdout)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if lines.Text() == "started" {
			a = k.startAgent(rest)
		} else if held, found := strings.CutPrefix(lines.Text(), "holds "); found {
			return a, strings.Split(held, ",")
		}
	}
	t.Fatalf("the kubelet to be killed ended first:\n%s", strings.Join(said, "\n"))
	return nil, nil
}

func expectKeptOverKill(t *testing.T, rest string) {
	t.Helper()
	k := newKubelet(t, topologymanager.PolicyNone)
	a, ids := k.killKubeletWithPod(rest)
	equal(t, "devices before", ids, numbers(0, 1))
	a.waitToSay("kubelet hung up")

	k.pods.add(podOf("survivor", 2))
	k.start()

	k.expectServed(t, a)
}

func TestAPodKeepsItsDevicesWhenKubeletIsKilled(t *testing.T) {
	expectKeptOverKill(t, npus)
}

func TestAPodKeepsItsDevicesWhenKubeletWithThePluginWatcherIsKilled(t *testing.T) {
	expectKeptOverKill(t, npus+watched)
}

func TestPodsOfEveryKindKeepTheirDevicesOverManyRestartsOfKubelet(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus)
	k.waitFor("64 of 64")
	first, _ := startPod(t, k, "survivor", 2)
	pod := podOf("with-sidecar", 3)
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, sidecarOf("sidecar", 2))
	must(t, k.admit(pod))

	for range 5 {
		k.stop()
		k.start()
		k.waitFor("64 of 64")
		equal(t, "devices of the first pod", expectStarts(t, k, first, 2), numbers(0, 1))
		equal(t, "of the sidecar", k.expectGets(pod, pod.Spec.InitContainers[0]), numbers(2, 3))
		equal(t, "of the second pod", k.expectGets(pod, pod.Spec.Containers[0]), numbers(4, 6))
	}

	k.pods.remove(pod)
	k.expectServed(t, a)
}

func TestPodsThatEndWhileKubeletIsAwayGiveTheirDevicesBack(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus)
	k.waitFor("64 of 64")
	startPod(t, k, "survivor", 2)
	pod, _ := startPod(t, k, "ends", 62)

	k.stop()
	k.pods.remove(pod)
	k.start()

	k.expectServed(t, a)
}

func TestKubeletAndTheAgentMayRestartTogether(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(npus)
	k.waitFor("64 of 64")
	startPod(t, k, "survivor", 2)

	a.kill()
	k.stop()
	a.start()
	a.waitForControl()
	k.start()

	k.expectServed(t, a)
}
