// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/container"
)

const card = "dummy.com/card"

// cards serves devices whose grants use every strategy.
const cards = `resources:
  - name: dummy.com/card
    env: CARDS
    strategies: [envvar, volume-mounts, device-specs, cdi-annotations, cdi-cri]
    cdi:
      kind: dummy.com/card
      dir: DIRECTORY/cdi
    dummy:
      count: 4
      nodes:
        - hostPath: /dev/npu{id}
          containerPath: /dev/card{id}
          permissions: rwm
        - hostPath: /dev/npu-control
          permissions: r
      mounts:
        - hostPath: /srv/npu/{id}
          containerPath: /card/{id}
          readOnly: false
        - hostPath: /srv/driver
          containerPath: /driver
`

// askingFor makes a pod of one container that asks for this many of one resource.
func askingFor(name string, resource v1.ResourceName, count int64) *v1.Pod {
	return podWith(name, containerAsking("main", map[v1.ResourceName]int64{resource: count}))
}

// startMain starts a pod's main container and returns its whole grant.
func (k *kubelet) startMain(pod *v1.Pod) *devicemanager.DeviceRunContainerOptions {
	k.t.Helper()
	options, err := k.startContainer(pod, pod.Spec.Containers[0])
	must(k.t, err)
	return options
}

func mount(host, inside string, readOnly bool) container.Mount {
	return container.Mount{Name: inside, HostPath: host, ContainerPath: inside, ReadOnly: readOnly}
}

func node(host, inside, permissions string) container.DeviceInfo {
	return container.DeviceInfo{PathOnHost: host, PathInContainer: inside, Permissions: permissions}
}

// twoCards returns the whole grant of a container with the cards 0 and 1.
func twoCards() *devicemanager.DeviceRunContainerOptions {
	return &devicemanager.DeviceRunContainerOptions{
		Envs: []container.EnvVar{{Name: "CARDS", Value: "0,1"}},
		Mounts: []container.Mount{
			mount("/srv/npu/0", "/card/0", false),
			mount("/srv/driver", "/driver", true),
			mount("/srv/npu/1", "/card/1", false),
		},
		Devices: []container.DeviceInfo{
			node("/dev/npu0", "/dev/card0", "rwm"),
			node("/dev/npu-control", "/dev/npu-control", "r"),
			node("/dev/npu1", "/dev/card1", "rwm"),
		},
		Annotations: []container.Annotation{
			{Name: "cdi.k8s.io/tessera_dummy.com_card", Value: "dummy.com/card=0,dummy.com/card=1"},
		},
		CDIDevices: []container.CDIDevice{{Name: "dummy.com/card=0"}, {Name: "dummy.com/card=1"}},
	}
}

func TestAContainerGetsVariableMountsNodesAnnotationAndCDINamesInOneAnswer(t *testing.T) {
	k := startKubelet(t)
	k.startAgent(cards)
	k.waitForResource(card, "4 of 4")

	pod := askingFor("two", card, 2)
	must(t, k.admit(pod))

	equal(t, "devices", k.devicesOf(card, pod, "main"), []string{"0", "1"})
	equal(t, "what the container gets", k.startMain(pod), twoCards())
}

func TestTheCDIDocumentHasEveryNameThatAContainerGets(t *testing.T) {
	k := startKubelet(t)
	a := k.startAgent(cards)
	k.waitForResource(card, "4 of 4")
	pod := askingFor("all", card, 4)
	must(t, k.admit(pod))

	var document struct {
		Kind    string
		Devices []struct{ Name string }
	}
	text, err := os.ReadFile(a.path("cdi/tessera-dummy.com_card.json"))
	must(t, err)
	must(t, json.Unmarshal(text, &document))

	var names []container.CDIDevice
	for _, device := range document.Devices {
		names = append(names, container.CDIDevice{Name: document.Kind + "=" + device.Name})
	}
	equal(t, "names", k.startMain(pod).CDIDevices, names)
}

func TestOnlyTheConfiguredStrategiesReachTheContainer(t *testing.T) {
	k := startKubelet(t)
	k.startAgent(strings.Replace(cards,
		"[envvar, volume-mounts, device-specs, cdi-annotations, cdi-cri]", "[cdi-cri]", 1))
	k.waitForResource(card, "4 of 4")

	pod := askingFor("two", card, 2)
	must(t, k.admit(pod))

	want := &devicemanager.DeviceRunContainerOptions{CDIDevices: twoCards().CDIDevices}
	equal(t, "what the container gets", k.startMain(pod), want)
}

func TestAContainerOfTwoResourcesGetsBoth(t *testing.T) {
	k := startKubelet(t)
	k.startAgent(npus + moreCards)
	k.waitFor("64 of 64")
	k.waitForResource(card, "4 of 4")

	pod := podWith("both", containerAsking("main", map[v1.ResourceName]int64{npu: 3, card: 2}))
	must(t, k.admit(pod))

	// kubelet merges the answers of several resources in any order.
	got, want := k.startMain(pod), twoCards()
	want.Envs = append(want.Envs, visible("0", "1", "2").Envs...)
	if got.Envs[0] != want.Envs[0] {
		got.Envs[0], got.Envs[1] = got.Envs[1], got.Envs[0]
	}
	equal(t, "what the container gets", got, want)
}

func TestSharesOfOneDeviceNameItOnce(t *testing.T) {
	k := startKubelet(t)
	k.startAgent(`resources:
  - name: dummy.com/card
    policy: replicas
    replicas: 3
    dummy:
      count: 1
      nodes:
        - hostPath: /dev/npu{id}
`)
	k.waitForResource(card, "3 of 3")

	pod := askingFor("two", card, 2)
	must(t, k.admit(pod))

	equal(t, "shares", k.devicesOf(card, pod, "main"), []string{"0::0", "0::1"})
	want := visible("0")
	want.Devices = []container.DeviceInfo{node("/dev/npu0", "/dev/npu0", "rw")}
	equal(t, "what the container gets", k.startMain(pod), want)
}

func TestAPodWhoseDevicesWantOnePathIsRefusedAndHoldsNothing(t *testing.T) {
	k := startKubelet(t)
	k.startAgent(`resources:
  - name: dummy.com/card
    dummy:
      count: 2
      nodes:
        - hostPath: /dev/npu{id}
          containerPath: /dev/npu
`)
	k.waitForResource(card, "2 of 2")

	err := k.admit(askingFor("two", card, 2))

	equal(t, "refusal", fmt.Sprint(err), "UnexpectedAdmissionError: Allocate failed due to rpc error: "+
		"code = FailedPrecondition desc = dummy.com/card: devices 0 and 1 both need /dev/npu in the container "+
		"[path-conflict]: ask for one device a container, or let the configuration give each device its own "+
		"path in the container, which is unexpected")
	for _, name := range []string{"one", "other"} {
		must(t, k.admit(askingFor(name, card, 1)))
	}
}

func TestDevicesThatAreFilesComeWithTheirNodesAndMounts(t *testing.T) {
	k := startKubelet(t)
	a := k.newAgent(t.TempDir())
	must(t, os.WriteFile(a.path("full.conf"), nil, 0o600))
	a.configure(`resources:
  - name: camera.example/rig
    env: RIGS
    files:
      paths: [/dev/zero]
      groups:
        - paths:
            - path: /dev/full
              permissions: r
            - path: DIRECTORY/full.conf
              containerPath: /etc/full.conf
              mount: true
`)
	a.start()
	k.waitForResource("camera.example/rig", "2 of 2")

	pod := askingFor("rigs", "camera.example/rig", 2)
	must(t, k.admit(pod))

	equal(t, "devices", k.devicesOf("camera.example/rig", pod, "main"), []string{"full", "zero"})
	equal(t, "what the container gets", k.startMain(pod), &devicemanager.DeviceRunContainerOptions{
		Envs:   []container.EnvVar{{Name: "RIGS", Value: "/dev/full,/dev/zero"}},
		Mounts: []container.Mount{mount(a.path("full.conf"), "/etc/full.conf", true)},
		Devices: []container.DeviceInfo{
			node("/dev/full", "/dev/full", "r"),
			node("/dev/zero", "/dev/zero", "rw"),
		},
	})
}
