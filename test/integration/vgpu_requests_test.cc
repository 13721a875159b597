// SPDX-License-Identifier: Apache-2.0
// Virtual GPUs of the sizes that pods request. The test's own API server has the choices of HAMi's
// scheduler.
#include <fmt/core.h>

#include <csignal>
#include <set>

#include "agent_fixture.h"
#include "grant/cdi_document.h"
#include "grant/fraction.h"
#include "nvml/nvidia_node.h"
#include "os/files.h"
#include "pod_server.h"
#include "requested_vgpus.h"

namespace tessera {
namespace {

class VgpuRequestsTest : public AgentTest {
 protected:
  VgpuRequestsTest() {
    EXPECT_TRUE(os::MakeDirectories(node_.directory() + "/usr/local/vgpu", 0755));
    EXPECT_TRUE(os::ReplaceFile(node_.directory() + "/usr/local/vgpu/libvgpu.so", "a library"));
  }
  std::string Extra() const { return OfWorker(node_.directory(), dir_, api_.port()); }
  // A pod whose only container requests one GPU, with a scheduler's choice.
  json::Object Placed(const std::string& uid, int gpu, int memory, int cores) const {
    const std::string chosen = fmt::format("{},NVIDIA,{},{}:;", Uuid(gpu), memory, cores);
    return {{"metadata", json::Object{{"name", "train"},
                                      {"namespace", "team"},
                                      {"uid", uid},
                                      {"resourceVersion", "1"},
                                      {"annotations",
                                       json::Object{{"hami.io/vgpu-node", "worker-1"},
                                                    {"hami.io/vgpu-devices-allocated", chosen}}}}},
            {"spec", json::Object{{"nodeName", "worker-1"},
                                  {"containers",
                                   json::Array{json::Object{
                                       {"name", "main"}, {"resources", Asking(memory, cores)}}}}}},
            {"status", json::Object{{"phase", "Pending"}}}};
  }
  static json::Object Asking(int memory, int cores) {
    return {{"limits", json::Object{{kGpu, "1"},
                                    {"nvidia.com/gpumem", std::to_string(memory)},
                                    {"nvidia.com/gpucores", std::to_string(cores)}}}};
  }
  std::string Uuid(int gpu) const {
    return node_.hardware().gpus.at(static_cast<size_t>(gpu)).uuid;
  }
  kubelet::Admission RunPod(const std::string& uid) {
    return kubelet_->RunPod({.pod_namespace = "team",
                             .name = "train",
                             .uid = uid,
                             .containers = {{.name = "main", .limits = {{kGpu, 1}}}}});
  }
  std::set<std::string> VariablesOf(const kubelet::Admission& pod) const {
    const std::string& name = pod.grants.at(0).response.annotations.at(kGrantAnnotation);
    const auto text = os::ReadFile(node_.directory() + "/cdi/" + GrantFileName(name));
    if (!text) return {"no document"};
    const std::vector<std::string> env = cdi::Read(*text).value().devices.at(0).edits.env;
    return {env.begin(), env.end()};
  }

  using NodeUnderTest::Await;

  NvidiaNode node_{dir_ + "/node", "8xa100"};
  PodServer api_;
};

TEST_F(VgpuRequestsTest, AContainerGetsWhatTheSchedulerChoseForItsPod) {
  api_.Add(Placed("uid-1", 5, 3000, 30));
  StartAll(kTenRequested, Extra());
  Expect(kGpu, 80, 80);

  const kubelet::Admission pod = RunPod("uid-1");
  ASSERT_TRUE(pod.admitted) << pod.message;
  ASSERT_TRUE(pod.start_failures.empty()) << pod.start_failures[0].second;
  const std::set<std::string> variables = VariablesOf(pod);
  EXPECT_TRUE(variables.contains("CUDA_DEVICE_MEMORY_LIMIT_0=3000m"));
  EXPECT_TRUE(variables.contains("CUDA_DEVICE_SM_LIMIT=30"));
}

TEST_F(VgpuRequestsTest, WhatAPodGotIsExplainedAndCountedOfItsGpu) {
  api_.Add(Placed("uid-1", 5, 3000, 30));
  StartAll(kTenRequested, Extra());
  Expect(kGpu, 80, 80);
  ASSERT_TRUE(RunPod("uid-1").start_failures.empty());

  const json::Object page = Page("/explain?pod=team/train");
  EXPECT_EQ(page.at("placement").at("by"), "hami-scheduler");
  EXPECT_EQ(page.at("node"), "worker-1");
  const json::Object container = page.at("containers").at(0).as_object();
  EXPECT_EQ(container.at("state"), "bound");
  const json::Object part{{"device", Uuid(5)}, {"memoryBytes", 3145728000}, {"cores", 30}};
  EXPECT_EQ(container.at("grants").at(0).at("parts"), json::Value(json::Array{part}));

  ASSERT_TRUE(AwaitPage("/inventory", [&](const json::Object& inventory) {
    const json::Object device = DeviceOn(inventory, Uuid(5));
    return device.at("vgpu").at("memoryGrantedBytes") == 3145728000 &&
           device.at("vgpu").at("coresGranted") == 30 &&
           device.at("holders").as_array().size() == 1 &&
           device.at("holders").at(0).at("part") == json::Value(part);
  })) << Get("/inventory");
}

TEST_F(VgpuRequestsTest, APodThatTheWatchHasNotToldOfIsFoundByAList) {
  StartAll(kTenRequested, Extra());
  Expect(kGpu, 80, 80);
  ASSERT_TRUE(Await([&] { return !api_.NodeAnnotation("hami.io/node-nvidia-register").empty(); }));
  api_.Add(Placed("uid-2", 0, 1000, 0));

  const kubelet::Admission pod = RunPod("uid-2");
  ASSERT_TRUE(pod.start_failures.empty()) << pod.start_failures[0].second;
  EXPECT_TRUE(VariablesOf(pod).contains("CUDA_DEVICE_MEMORY_LIMIT_0=1000m"));
}

TEST_F(VgpuRequestsTest, APodThatNobodyKnowsIsNotStarted) {
  api_.Add(Placed("uid-1", 5, 3000, 30));
  StartAll(kTenRequested, Extra());
  Expect(kGpu, 80, 80);

  const kubelet::Admission pod = RunPod("uid-9");
  ASSERT_EQ(pod.start_failures.size(), 1U);
  EXPECT_NE(pod.start_failures[0].second.find("does not say what pod uid-9 asks for"),
            std::string::npos)
      << pod.start_failures[0].second;
  EXPECT_EQ(VariablesOf(pod), std::set<std::string>{"no document"});

  ASSERT_TRUE(AwaitPage("/explain?pod=team/train", [](const json::Object& page) {
    const json::Array* refusals = json::GetArray(page, "refusals");
    return refusals != nullptr && !refusals->empty() &&
           refusals->at(0).at("reason") == "grant-unknown";
  })) << Get("/explain?pod=team/train");
}

TEST_F(VgpuRequestsTest, APodThatNobodyPlacedGetsWhatItsAnnotationsAskFor) {
  json::Object pod = Placed("uid-1", 5, 3000, 30);
  pod["metadata"].as_object()["annotations"] =
      json::Object{{"tessera.dev/gpu-memory", "2Gi"}, {"tessera.dev/gpu-cores.main", "40"}};
  pod["spec"].as_object()["containers"].as_array()[0].as_object()["resources"] =
      json::Object{{"limits", json::Object{{kGpu, "1"}}}};
  api_.Add(pod);
  std::string fitting = kTenRequested;
  fitting.replace(fitting.find("mode: requested"), 15, "mode: requested, unplaced: fit");
  StartAll(fitting, Extra());
  Expect(kGpu, 80, 80);

  const kubelet::Admission admitted = RunPod("uid-1");
  ASSERT_TRUE(admitted.start_failures.empty()) << admitted.start_failures[0].second;
  const std::set<std::string> variables = VariablesOf(admitted);
  EXPECT_TRUE(variables.contains("CUDA_DEVICE_MEMORY_LIMIT_0=2048m"));
  EXPECT_TRUE(variables.contains("CUDA_DEVICE_SM_LIMIT=40"));
}

TEST_F(VgpuRequestsTest, HamisSchedulerIsToldOfTheGpus) {
  StartAll(kTenRequested, Extra());
  Expect(kGpu, 80, 80);

  const auto told = [&] { return api_.NodeAnnotation("hami.io/node-nvidia-register"); };
  ASSERT_TRUE(Await([&] { return !told().empty(); }));
  EXPECT_EQ(
      told().substr(0, told().find('}') + 1),
      fmt::format(R"([{{"id":"{}","count":10,"devmem":81920,"devcore":100,)"
                  R"("type":"NVIDIA A100-SXM4-80GB","numa":3,"mode":"hami-core","health":true}})",
                  Uuid(0)));
}

}  // namespace
}  // namespace tessera
