// SPDX-License-Identifier: Apache-2.0
// Admission of pods and the start of their containers, against a plugin over the wire.
#include "sim/kubelet/admission.h"

#include "kubelet/checkpoint.h"
#include "os/waiting_test.h"
#include "sim/kubelet/fake_plugin_test.h"

namespace tessera::kubelet::embedded {
namespace {

using Kind = ContainerSpec::Kind;
using IdLists = std::vector<std::vector<std::string>>;

grpc::Status Broken() {
  return {grpc::StatusCode::INTERNAL, "broken"};
}

class Admitting : public NodeTest {
 protected:
  static PodSpec Pod(const std::string& name, std::vector<ContainerSpec> containers) {
    return {"default", name, "", std::move(containers)};
  }
  static ContainerSpec Container(const std::string& name, Kind kind, int count) {
    return {name, kind, {{kNpu, count}}};
  }
  std::vector<std::string> HeldBy(const std::string& pod, const std::string& container) {
    for (const ContainerGrant& grant : kubelet->GrantsOf("default", pod)) {
      if (grant.container == container) return grant.ids;
    }
    return {};
  }
};

TEST_F(Admitting, APodGetsItsDevicesAndTheirGrant) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 4);
  Admission admission = kubelet->RunPod(OneContainer("pod", 4));
  ASSERT_TRUE(admission.admitted) << admission.message;
  ASSERT_EQ(admission.grants.size(), 1U);
  const ContainerGrant& grant = admission.grants[0];
  EXPECT_EQ(grant.container, "app");
  EXPECT_EQ(grant.resource, kNpu);
  EXPECT_EQ(grant.ids, (std::vector<std::string>{"0", "1", "2", "3"}));
  EXPECT_EQ(grant.response.envs, (std::map<std::string, std::string>{{"FAKE_IDS", "0,1,2,3"}}));
  EXPECT_EQ(plugin.Read(&FakePlugin::allocated), (IdLists{{"0", "1", "2", "3"}}));
  EXPECT_EQ(kubelet->Pods(), std::vector<std::string>{"default/pod"});
}

TEST_F(Admitting, EveryPartOfAResponseIsRead) {
  FakePlugin plugin({.allocate = [](const auto&, v1beta1::AllocateResponse& response) {
    auto* container = response.add_container_responses();
    auto* mount = container->add_mounts();
    mount->set_host_path("/h");
    mount->set_container_path("/c");
    mount->set_read_only(true);
    auto* device = container->add_devices();
    device->set_host_path("/dev/h");
    device->set_container_path("/dev/c");
    device->set_permissions("rw");
    (*container->mutable_annotations())["k"] = "v";
    container->add_cdi_devices()->set_name("dummy.com/npu=0");
    return grpc::Status::OK;
  }});
  Start();
  Bring(plugin, "a.sock", 1);
  Admission admission = kubelet->RunPod(OneContainer("pod", 1));
  ASSERT_EQ(admission.grants.size(), 1U);
  Grant expected{.envs = {},
                 .mounts = {{"/h", "/c", true}},
                 .devices = {{"/dev/h", "/dev/c", "rw"}},
                 .annotations = {{"k", "v"}},
                 .cdi_devices = {"dummy.com/npu=0"}};
  EXPECT_EQ(admission.grants[0].response, expected);
}

TEST_F(Admitting, TheIdsAreOfferedInAnOrderTheSeedDecides) {
  IdLists offered;
  for (uint64_t seed : {1U, 1U, 2U}) {
    options.seed = seed;
    Start();
    FakePlugin plugin(
        {.prefer = true, .prefer_answer = [](const auto&, auto&) { return grpc::Status::OK; }});
    Bring(plugin, "a.sock", 16);
    ASSERT_TRUE(kubelet->RunPod(OneContainer("pod" + std::to_string(offered.size()), 1)).admitted);
    auto ids = plugin.Read(&FakePlugin::preferred).front().available_deviceids();
    offered.emplace_back(ids.begin(), ids.end());
    kubelet.reset();
    (void)os::RemoveTree(options.root);
  }
  EXPECT_EQ(offered[0], offered[1]);
  EXPECT_NE(offered[0], offered[2]);
}

TEST_F(Admitting, MoreThanThereIsIsRefused) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 4);
  ASSERT_TRUE(kubelet->RunPod(OneContainer("first", 3)).admitted);
  Admission refused = kubelet->RunPod(OneContainer("second", 2));
  EXPECT_FALSE(refused.admitted);
  EXPECT_EQ(refused.reason, "UnexpectedAdmissionError");
  EXPECT_EQ(refused.message,
            "Allocate failed due to requested number of devices unavailable for dummy.com/npu. "
            "Requested: 2, Available: 1, which is unexpected");
}

TEST_F(Admitting, WithoutHealthyDevicesAPodIsRefused) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 4);
  plugin.Shutdown();
  ASSERT_TRUE(AwaitCounts(4, 0));
  EXPECT_EQ(kubelet->RunPod(OneContainer("pod", 1)).message,
            "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices "
            "dummy.com/npu, which is unexpected");
}

TEST_F(Admitting, AResourceNobodyOffersIsOutOf) {
  Start();
  Admission refused = kubelet->RunPod(OneContainer("pod", 2));
  EXPECT_FALSE(refused.admitted);
  EXPECT_EQ(refused.reason, "OutOfdummy.com/npu");
  EXPECT_EQ(refused.message,
            "Node didn't have enough resource: dummy.com/npu, requested: 2, used: 0, capacity: 0");
}

TEST_F(Admitting, TheErrorOfAllocateIsWhatTheUserReads) {
  Start();
  FakePlugin plugin({.allocate = [](const auto&, auto&) { return Broken(); }});
  Bring(plugin, "a.sock", 4);
  EXPECT_EQ(kubelet->RunPod(OneContainer("pod", 4)).message,
            "Allocate failed due to rpc error: code = Internal desc = broken, which is unexpected");
  EXPECT_TRUE(kubelet->Pods().empty());
  // Its devices are free again: the next pod reaches the plugin as well.
  kubelet->RunPod(OneContainer("pod", 4));
  EXPECT_EQ(plugin.Read(&FakePlugin::allocated).size(), 2U);
}

TEST_F(Admitting, AnAnswerWithoutContainersKeepsTheDevicesTaken) {
  Start();
  FakePlugin plugin({.allocate = [](const auto& ids, auto& response) {
    if (ids.size() == 1) response.add_container_responses();
    return grpc::Status::OK;
  }});
  Bring(plugin, "a.sock", 4);
  EXPECT_EQ(kubelet->RunPod(OneContainer("pod", 3)).message,
            "Allocate failed due to no containers return in allocation response "
            "&AllocateResponse{ContainerResponses:[]*ContainerAllocateResponse{},}, which is "
            "unexpected");
  EXPECT_EQ(kubelet->RunPod(OneContainer("pod", 2)).message,
            "Allocate failed due to requested number of devices unavailable for dummy.com/npu. "
            "Requested: 2, Available: 1, which is unexpected");
  // After another pod has ended, kubelet counts again.
  ASSERT_TRUE(kubelet->RunPod(OneContainer("small", 1)).admitted);
  ASSERT_TRUE(kubelet->EndPod("default", "small"));
  EXPECT_FALSE(kubelet->RunPod(OneContainer("pod", 3)).admitted);
  EXPECT_EQ(plugin.Read(&FakePlugin::allocated).size(), 3U);
}

TEST_F(Admitting, AnEndedPodsDevicesAreFree) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 2);
  ASSERT_TRUE(kubelet->RunPod(OneContainer("pod", 2)).admitted);
  ASSERT_TRUE(kubelet->EndPod("default", "pod"));
  EXPECT_EQ(Npu().devices.front().pod, "");
  EXPECT_TRUE(kubelet->RunPod(OneContainer("pod", 2)).admitted);
  EXPECT_EQ(kubelet->EndPod("default", "other").error().message, "no pod default/other runs");
}

TEST_F(Admitting, AnAppContainerGetsTheInitContainersDevicesByASecondCall) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 8);
  ASSERT_TRUE(
      kubelet
          ->RunPod(Pod("pod", {Container("app", Kind::kApp, 3), Container("init", Kind::kInit, 2)}))
          .admitted);
  auto calls = plugin.Read(&FakePlugin::allocated);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0], HeldBy("pod", "init"));
  EXPECT_EQ(calls[0].size(), 2U);
  EXPECT_EQ(calls[1].size(), 3U);
  EXPECT_TRUE(std::includes(calls[1].begin(), calls[1].end(), calls[0].begin(), calls[0].end()));
  // The app container is now the holder.
  for (const DeviceStatus& device : Npu().devices) {
    EXPECT_TRUE(device.container == "" || device.container == "app");
  }
}

TEST_F(Admitting, ASidecarKeepsItsDevices) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 2);
  ASSERT_TRUE(kubelet
                  ->RunPod(Pod("pod", {Container("side", Kind::kSidecar, 1),
                                       Container("app", Kind::kApp, 1)}))
                  .admitted);
  EXPECT_NE(HeldBy("pod", "side"), HeldBy("pod", "app"));
}

TEST_F(Admitting, ThePreferenceIsAskedEvenForExactlyWhatIsLeft) {
  Start();
  FakePlugin plugin(
      {.prefer = true, .prefer_answer = [](const auto&, auto&) { return grpc::Status::OK; }});
  Bring(plugin, "a.sock", 2);
  ASSERT_TRUE(kubelet->RunPod(OneContainer("pod", 2)).admitted);
  auto asked = plugin.Read(&FakePlugin::preferred);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].available_deviceids_size(), 2);
  EXPECT_EQ(asked[0].must_include_deviceids_size(), 0);
  EXPECT_EQ(asked[0].allocation_size(), 2);
}

TEST_F(Admitting, ThePreferenceIsFollowedWithinWhatIsFree) {
  Start();
  FakePlugin plugin({.prefer = true, .prefer_answer = [](const auto&, auto& response) {
                       auto* answer = response.add_container_responses();
                       for (const char* id : {"7", "3", "unknown"}) answer->add_deviceids(id);
                       return grpc::Status::OK;
                     }});
  Bring(plugin, "a.sock", 8);
  ASSERT_TRUE(kubelet->RunPod(OneContainer("first", 2)).admitted);
  EXPECT_EQ(HeldBy("first", "app"), (std::vector<std::string>{"3", "7"}));
  // Both are taken now, so it is filled up at random.
  ASSERT_TRUE(kubelet->RunPod(OneContainer("second", 2)).admitted);
  EXPECT_EQ(HeldBy("second", "app").size(), 2U);
}

TEST_F(Admitting, DevicesOfInitContainersMustBeIncluded) {
  Start();
  FakePlugin plugin(
      {.prefer = true, .prefer_answer = [](const auto&, auto&) { return grpc::Status::OK; }});
  Bring(plugin, "a.sock", 4);
  ASSERT_TRUE(
      kubelet
          ->RunPod(Pod("pod", {Container("init", Kind::kInit, 1), Container("app", Kind::kApp, 3)}))
          .admitted);
  auto asked = plugin.Read(&FakePlugin::preferred);
  ASSERT_EQ(asked.size(), 2U);
  ASSERT_EQ(asked[1].must_include_deviceids_size(), 1);
  EXPECT_EQ(asked[1].must_include_deviceids(0), HeldBy("pod", "init").front());
  EXPECT_EQ(asked[1].available_deviceids_size(), 4);
  EXPECT_EQ(asked[1].allocation_size(), 3);
}

TEST_F(Admitting, APreferenceThatFailsRefusesThePod) {
  Start();
  FakePlugin plugin({.prefer = true, .prefer_answer = [](const auto&, auto&) { return Broken(); }});
  Bring(plugin, "a.sock", 4);
  EXPECT_EQ(kubelet->RunPod(OneContainer("pod", 1)).message,
            "Allocate failed due to device plugin GetPreferredAllocation rpc failed with err: rpc "
            "error: code = Internal desc = broken, which is unexpected");
}

TEST_F(Admitting, APreferencePromisedButNotImplementedRefusesThePod) {
  Start();
  FakePlugin plugin({.prefer = true});
  Bring(plugin, "a.sock", 4);
  EXPECT_EQ(kubelet->RunPod(OneContainer("pod", 1)).message,
            "Allocate failed due to device plugin GetPreferredAllocation rpc failed with err: rpc "
            "error: code = Unimplemented desc = not implemented, which is unexpected");
}

TEST_F(Admitting, PreStartIsCalledAtEveryStartWithTheContainersDevices) {
  Start();
  FakePlugin plugin({.pre_start = true});
  Bring(plugin, "a.sock", 2);
  ASSERT_TRUE(kubelet->RunPod(OneContainer("pod", 2)).admitted);
  ASSERT_TRUE(kubelet->RestartContainer("default", "pod", "app"));
  EXPECT_EQ(plugin.Read(&FakePlugin::pre_started), (IdLists{{"0", "1"}, {"0", "1"}}));
  EXPECT_EQ(plugin.Read(&FakePlugin::allocated).size(), 1U);
  EXPECT_EQ(kubelet->RestartContainer("default", "pod", "none").error().message,
            "pod default/pod has no container none");
}

TEST_F(Admitting, APreStartThatFailsKeepsTheContainerFromStarting) {
  Start();
  FakePlugin plugin({.pre_start = true, .pre_start_answer = [](const auto&) { return Broken(); }});
  Bring(plugin, "a.sock", 2);
  Admission admission = kubelet->RunPod(
      Pod("pod", {Container("init", Kind::kInit, 1), Container("app", Kind::kApp, 1)}));
  EXPECT_TRUE(admission.admitted);
  // The app container waits for the init container.
  EXPECT_EQ(admission.start_failures,
            (std::vector<std::pair<std::string, std::string>>{
                {"init",
                 "device plugin PreStartContainer rpc failed with err: rpc error: code = "
                 "Internal desc = broken"}}));
}

TEST_F(Admitting, ARestartWhileThePluginIsAwayFails) {
  Start();
  FakePlugin plugin({.pre_start = true});
  Bring(plugin, "a.sock", 2);
  ASSERT_TRUE(kubelet->RunPod(OneContainer("pod", 1)).admitted);
  plugin.Shutdown();
  ASSERT_TRUE(AwaitConnected(false));
  EXPECT_EQ(kubelet->RestartContainer("default", "pod", "app").error().message,
            "device plugin PreStartContainer rpc failed with err: endpoint dummy.com/npu has been "
            "stopped");
}

TEST_F(Admitting, AHangingAllocateHoldsUpEveryPodUntilThePluginDies) {
  Start();
  FakePlugin plugin;
  plugin.hanging = true;
  Bring(plugin, "a.sock", 2);
  Admission first;
  Admission second;
  std::thread hanging([&] { first = kubelet->RunPod(OneContainer("first", 1)); });
  ASSERT_TRUE(plugin.Await([](auto& p) { return p.allocated.size() == 1; }));
  os::WaitingCall waiting([&] { second = kubelet->RunPod(OneContainer("second", 1)); });
  ASSERT_TRUE(kubelet->DropStream(kNpu));
  hanging.join();
  waiting.Join();
  EXPECT_FALSE(first.admitted);
  // It had waited for the first, and came too late.
  EXPECT_EQ(second.reason, "UnexpectedAdmissionError");
  EXPECT_EQ(plugin.Read(&FakePlugin::allocated).size(), 1U);
  plugin.FinishHanging();
}

TEST_F(Admitting, StopEndsAHangingAllocate) {
  Start();
  FakePlugin plugin;
  plugin.hanging = true;
  Bring(plugin, "a.sock", 2);
  Admission admission;
  std::thread hanging([&] { admission = kubelet->RunPod(OneContainer("pod", 1)); });
  ASSERT_TRUE(plugin.Await([](auto& p) { return p.allocated.size() == 1; }));
  kubelet->Kill();
  hanging.join();
  EXPECT_EQ(admission.reason, "KubeletStopped");
  plugin.FinishHanging();
}

TEST_F(Admitting, AMalformedPodIsInvalid) {
  Start();
  EXPECT_EQ(kubelet->RunPod(Pod("", {})).message, "the pod has no name");
  EXPECT_EQ(kubelet->RunPod(Pod("p", {{"a", Kind::kApp, {}}, {"a", Kind::kApp, {}}})).message,
            "container name \"a\" is used twice");
  ASSERT_TRUE(kubelet->RunPod(Pod("p", {{"a", Kind::kApp, {}}})).admitted);
  EXPECT_EQ(kubelet->RunPod(Pod("p", {})).message, "pods \"p\" already exists");
}

}  // namespace
}  // namespace tessera::kubelet::embedded
