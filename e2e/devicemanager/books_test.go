// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1 "k8s.io/api/core/v1"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// holding is a container's shares of one resource, in kubelet's accounting or in the agent's.
type holding struct {
	Namespace, Pod, UID, Container, Resource string
	Shares                                   []string
}

func holdingOf(pod *v1.Pod, container, resource string, shares ...string) holding {
	return holding{pod.Namespace, pod.Name, string(pod.UID), container, resource, shares}
}

// ledger returns the agent's whole ledger.
func (a *agent) ledger() []holding {
	a.t.Helper()
	var answer struct{ Holdings []holding }
	must(a.t, json.Unmarshal([]byte(a.page("/ledger")), &answer))
	return answer.Holdings
}

// podResources returns a client of kubelet's pod-resources API.
func (k *kubelet) podResources() podresourcesv1.PodResourcesListerClient {
	k.t.Helper()
	// The gRPC of Kubernetes 1.30 has no NewClient.
	connection, err := grpc.Dial("unix://"+filepath.Join(kubeletRoot, "pod-resources", "kubelet.sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(k.t, err)
	k.t.Cleanup(func() { connection.Close() })
	return podresourcesv1.NewPodResourcesListerClient(connection)
}

// listed returns the holdings in kubelet's list, which has no UIDs.
func listed(pods []*podresourcesv1.PodResources) []holding {
	var all []holding
	for _, pod := range pods {
		for _, container := range pod.Containers {
			shares := map[string][]string{}
			for _, devices := range container.Devices {
				shares[devices.ResourceName] = append(shares[devices.ResourceName], devices.DeviceIds...)
			}
			for resource, ids := range shares {
				slices.Sort(ids)
				all = append(all, holding{pod.Namespace, pod.Name, "", container.Name, resource, ids})
			}
		}
	}
	slices.SortFunc(all, func(a, b holding) int {
		return cmp.Or(cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Container, b.Container), cmp.Compare(a.Resource, b.Resource))
	})
	return all
}

// expectAccounting waits until the ledger has exactly these holdings, and checks that kubelet lists
// the same. A holding without a pod's name belongs to a plain init container, which is only in
// kubelet's checkpoint.
func (k *kubelet) expectAccounting(a *agent, want ...holding) {
	k.t.Helper()
	eventually(k.t, func() error {
		if got := a.ledger(); !reflect.DeepEqual(got, want) {
			return fmt.Errorf("the ledger says %+v, not %+v", got, want)
		}
		return nil
	})
	answer, err := k.podResources().List(context.Background(), &podresourcesv1.ListPodResourcesRequest{})
	must(k.t, err)
	var named []holding
	for _, each := range want {
		if each.Pod != "" {
			each.UID = ""
			named = append(named, each)
		}
	}
	equal(k.t, "kubelet's list", listed(answer.PodResources), named)
}

// twoResources starts kubelet, and an agent with NPUs near two NUMA nodes and with shared cards.
func twoResources(t *testing.T) (*kubelet, *agent) {
	t.Helper()
	k := startKubelet(t)
	a := k.startAgent(eightNear + shared(2, 2, "spread")[len("resources:\n"):])
	k.waitFor("8 of 8")
	k.waitForResource(card, "4 of 4")
	return k, a
}

// admitThree admits a pod of two containers, one with a sidecar, and one of two resources. It also
// returns their holdings.
func admitThree(t *testing.T, k *kubelet) (pods [3]*v1.Pod, accounting []holding) {
	t.Helper()
	pods = [3]*v1.Pod{podOf("a-two", 2), podOf("b-sidecar", 1),
		podWith("c-both", containerAsking("main", map[v1.ResourceName]int64{npu: 1, card: 2}))}
	pods[0].Spec.Containers = append(pods[0].Spec.Containers, containerOf("second", 1))
	pods[1].Spec.InitContainers = []v1.Container{sidecarOf("sidecar", 2)}
	for _, pod := range pods {
		must(t, k.admit(pod))
	}
	return pods, []holding{
		holdingOf(pods[0], "main", npu, "0", "1"),
		holdingOf(pods[0], "second", npu, "2"),
		holdingOf(pods[1], "main", npu, "3"),
		holdingOf(pods[1], "sidecar", npu, "4", "5"),
		holdingOf(pods[2], "main", card, "0::0", "1::0"),
		holdingOf(pods[2], "main", npu, "6"),
	}
}

func TestTheLedgerIsKubeletsListOfPodsOfEveryKind(t *testing.T) {
	k, a := twoResources(t)

	pods, accounting := admitThree(t, k)

	k.expectAccounting(a, accounting...)
	k.pods.remove(pods[1])
	k.expectAccounting(a, accounting[0], accounting[1], accounting[4], accounting[5])
	k.pods.remove(pods[0])
	k.pods.remove(pods[2])
	k.expectAccounting(a, []holding{}...)
}

func TestTheLedgerDoesNotChangeWhenAHeldDeviceFailsAndHeals(t *testing.T) {
	k, a := twoResources(t)
	_, accounting := admitThree(t, k)

	a.fault("fail", npu, "4")
	k.waitFor("7 of 8")
	k.expectAccounting(a, accounting...)

	a.fault("heal", npu, "4")
	k.waitFor("8 of 8")
	k.expectAccounting(a, accounting...)
}

func TestARestartedAgentHasTheSameLedger(t *testing.T) {
	k, a := twoResources(t)
	_, accounting := admitThree(t, k)

	a.kill()
	a.start()

	k.expectAccounting(a, accounting...)
}

func TestAnInitContainerIsInTheLedgerByItsPodsUID(t *testing.T) {
	k, a := twoResources(t)
	pod := podOf("with-init", 2)
	pod.Spec.InitContainers = []v1.Container{containerOf("prepare", 3)}
	must(t, k.admit(pod))

	k.expectAccounting(a,
		holding{UID: string(pod.UID), Container: "prepare", Resource: npu, Shares: k.devices(pod, "prepare")},
		holdingOf(pod, "main", npu, k.devices(pod, "main")...))

	k.pods.remove(pod)
	k.expectAccounting(a, []holding{}...)
}

func TestKubeletTellsOfEachPodWhatItLists(t *testing.T) {
	k, a := twoResources(t)
	pods, accounting := admitThree(t, k)
	k.expectAccounting(a, accounting...)

	var got []holding
	for _, pod := range pods {
		answer, err := k.podResources().Get(context.Background(),
			&podresourcesv1.GetPodResourcesRequest{PodNamespace: pod.Namespace, PodName: pod.Name})
		must(t, err)
		got = append(got, listed([]*podresourcesv1.PodResources{answer.PodResources})...)
	}
	for n := range accounting {
		accounting[n].UID = ""
	}
	equal(t, "what kubelet tells", got, accounting)
}

// offered returns the devices that the agent offers, with their NUMA nodes.
func (a *agent) offered() map[string][]int64 {
	a.t.Helper()
	var answer struct {
		Devices []struct {
			Source    string
			Shares    []string
			NumaNodes []int64
			Offered   bool
		}
	}
	must(a.t, json.Unmarshal([]byte(a.tessera("devices", "-o", "json")), &answer))
	all := map[string][]int64{}
	for _, device := range answer.Devices {
		for _, share := range device.Shares {
			if device.Offered {
				all[device.Source+"/"+share] = append([]int64{}, device.NumaNodes...)
			}
		}
	}
	return all
}

// expectOffered checks that kubelet can allocate this many devices, and that the agent offers the
// same.
func (k *kubelet) expectOffered(a *agent, count int) {
	k.t.Helper()
	answer, err := k.podResources().GetAllocatableResources(context.Background(),
		&podresourcesv1.AllocatableResourcesRequest{})
	must(k.t, err)
	all := map[string][]int64{}
	for _, devices := range answer.Devices {
		for _, id := range devices.DeviceIds {
			nodes := []int64{}
			for _, node := range devices.GetTopology().GetNodes() {
				nodes = append(nodes, node.ID)
			}
			all[devices.ResourceName+"/"+id] = nodes
		}
	}
	equal(k.t, "number of devices", len(all), count)
	equal(k.t, "devices to give", all, a.offered())
}

func TestKubeletHasToGiveWhatTheAgentOffersHeldOrNot(t *testing.T) {
	k, a := twoResources(t)
	k.expectOffered(a, 12)

	admitThree(t, k)
	k.expectOffered(a, 12)

	a.fault("fail", npu, "4")
	a.tessera("devices", "cordon", card+"/1", "--reason", "fan is loud")
	k.waitFor("7 of 8")
	k.waitForResource(card, "2 of 4")
	k.expectOffered(a, 9)

	a.fault("heal", npu, "4")
	a.tessera("devices", "uncordon", card+"/1")
	k.waitFor("8 of 8")
	k.waitForResource(card, "4 of 4")
	k.expectOffered(a, 12)
}
