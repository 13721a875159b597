// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/pod_resources_service.h"

#include "proto/podresources/podresources.grpc.pb.h"
#include "sim/kubelet/fake_plugin_test.h"

namespace tessera::kubelet::embedded {
namespace {

using Kind = ContainerSpec::Kind;

class PodResources : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    Start();
    stub = v1::PodResourcesLister::NewStub(
        grpc::CreateChannel("unix:" + options.root + "/pod-resources/kubelet.sock",
                            grpc::InsecureChannelCredentials()));
  }
  // "id@node" of each entry, sorted; "id" without topology.
  static std::vector<std::string> Entries(
      const google::protobuf::RepeatedPtrField<v1::ContainerDevices>& devices) {
    std::vector<std::string> entries;
    for (const auto& device : devices) {
      EXPECT_EQ(device.resource_name(), kNpu);
      EXPECT_EQ(device.device_ids_size(), 1);
      std::string entry = device.device_ids(0);
      for (const auto& node : device.topology().nodes()) entry += "@" + std::to_string(node.id());
      entries.push_back(entry);
    }
    std::sort(entries.begin(), entries.end());
    return entries;
  }
  // Devices on these NUMA nodes; no list at all for nothing.
  void BringWithTopology(FakePlugin& plugin,
                         const std::vector<std::optional<std::vector<int>>>& topologies) {
    v1beta1::ListAndWatchResponse list;
    for (size_t i = 0; i < topologies.size(); ++i) {
      v1beta1::Device* device = list.add_devices();
      device->set_id(std::to_string(i));
      device->set_health("Healthy");
      if (!topologies[i]) continue;
      auto* topology = device->mutable_topology();
      for (int node : *topologies[i]) topology->add_nodes()->set_id(node);
    }
    plugin.SetList(list);
    plugin.Serve(PluginPath("a.sock"));
    ASSERT_TRUE(Register("a.sock").ok());
    int count = static_cast<int>(topologies.size());
    ASSERT_TRUE(AwaitCounts(count, count));
  }
  v1::ListPodResourcesResponse List() {
    grpc::ClientContext context;
    v1::ListPodResourcesResponse response;
    EXPECT_TRUE(stub->List(&context, {}, &response).ok());
    return response;
  }

  std::unique_ptr<v1::PodResourcesLister::Stub> stub;
};

TEST_F(PodResources, ListShowsAppContainersAndSidecarsButNotInitContainers) {
  FakePlugin plugin;
  Bring(plugin, "a.sock", 4);
  ASSERT_TRUE(kubelet
                  ->RunPod({"ns",
                            "pod",
                            "",
                            {{"init", Kind::kInit, {{kNpu, 1}}},
                             {"side", Kind::kSidecar, {{kNpu, 1}}},
                             {"app", Kind::kApp, {{kNpu, 2}}}}})
                  .admitted);
  auto response = List();
  ASSERT_EQ(response.pod_resources_size(), 1);
  const v1::PodResources& pod = response.pod_resources(0);
  EXPECT_EQ(pod.namespace_() + "/" + pod.name(), "ns/pod");
  ASSERT_EQ(pod.containers_size(), 2);
  EXPECT_EQ(pod.containers(0).name(), "side");
  EXPECT_EQ(pod.containers(0).devices_size(), 1);
  EXPECT_EQ(pod.containers(1).name(), "app");
  EXPECT_EQ(pod.containers(1).devices_size(), 2);
}

TEST_F(PodResources, AnEndedPodIsNotListed) {
  FakePlugin plugin;
  Bring(plugin, "a.sock", 2);
  ASSERT_TRUE(kubelet->RunPod(OneContainer("pod", 2)).admitted);
  ASSERT_TRUE(kubelet->EndPod("default", "pod"));
  EXPECT_EQ(List().pod_resources_size(), 0);
}

TEST_F(PodResources, ADeviceIsListedOnceForEachOfItsNumaNodes) {
  FakePlugin plugin;
  BringWithTopology(plugin, {{{0, 1}}, std::nullopt});
  ASSERT_TRUE(kubelet->RunPod(OneContainer("pod", 2)).admitted);
  EXPECT_EQ(Entries(List().pod_resources(0).containers(0).devices()),
            (std::vector<std::string>{"0@0", "0@1", "1"}));
}

TEST_F(PodResources, AllocatableIsWhatIsHealthyHeldOrNot) {
  FakePlugin plugin;
  Bring(plugin, "a.sock", 3);
  ASSERT_TRUE(kubelet->RunPod(OneContainer("pod", 3)).admitted);
  plugin.SetDevices({{"0", "Healthy"}, {"1", "Unhealthy"}, {"2", "Healthy"}});
  ASSERT_TRUE(AwaitCounts(3, 2));
  grpc::ClientContext context;
  v1::AllocatableResourcesResponse response;
  ASSERT_TRUE(stub->GetAllocatableResources(&context, {}, &response).ok());
  EXPECT_EQ(Entries(response.devices()), (std::vector<std::string>{"0", "2"}));
}

TEST_F(PodResources, ATopologyWithoutNodesHidesADeviceAndMinusOneIsShown) {
  FakePlugin plugin;
  BringWithTopology(plugin, {std::vector<int>{}, {{-1}}, {{0}}, std::nullopt});
  grpc::ClientContext context;
  v1::AllocatableResourcesResponse response;
  ASSERT_TRUE(stub->GetAllocatableResources(&context, {}, &response).ok());
  EXPECT_EQ(Entries(response.devices()), (std::vector<std::string>{"1@-1", "2@0", "3"}));
}

TEST_F(PodResources, GetFindsAPodOrSaysThatThereIsNone) {
  ASSERT_TRUE(kubelet->RunPod({"ns", "pod", "", {{"app", Kind::kApp, {}}}}).admitted);
  v1::GetPodResourcesRequest request;
  request.set_pod_namespace("ns");
  request.set_pod_name("pod");
  v1::GetPodResourcesResponse response;
  grpc::ClientContext first;
  EXPECT_TRUE(stub->Get(&first, request, &response).ok());
  EXPECT_EQ(response.pod_resources().containers(0).name(), "app");
  request.set_pod_name("other");
  grpc::ClientContext second;
  grpc::Status missing = stub->Get(&second, request, &response);
  EXPECT_EQ(missing.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_EQ(missing.error_message(), "pod other in namespace ns not found");
}

TEST_F(PodResources, WhoCallsTooOftenIsRefused) {
  std::mutex mutex;
  grpc::Status refused;
  auto call_often = [&] {
    for (int i = 0; i < 200; ++i) {
      grpc::ClientContext context;
      v1::ListPodResourcesResponse response;
      grpc::Status status = stub->List(&context, {}, &response);
      std::lock_guard lock(mutex);
      if (!status.ok()) refused = status;
      if (!refused.ok()) return;
    }
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) callers.emplace_back(call_often);
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused.error_message(), "rejected by rate limit");
}

}  // namespace
}  // namespace tessera::kubelet::embedded
