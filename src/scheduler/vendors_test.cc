// SPDX-License-Identifier: Apache-2.0
// What is particular to each vendor's devices.
#include "scheduler/vendors.h"

#include <algorithm>

#include "hami/node_register.h"
#include "scheduler/plugin_under_test.h"

namespace tessera::scheduler {
namespace {

class VendorsTest : public VendorClusterTest {
 protected:
  // A node's plugin with this number of like devices, with ids from "d0" on.
  static FakePlugin PluginOf(const std::string& resource, const std::string& register_key,
                             const std::string& word, size_t devices,
                             const hami::RegisteredDevice& like) {
    std::vector<hami::RegisteredDevice> all(devices, like);
    for (size_t i = 0; i < devices; ++i) {
      all[i].id = fmt::format("d{}", i);
      all[i].index = static_cast<uint32_t>(i);
      if (word.starts_with("Ascend")) all[i].custom = {{"NetworkID", i < 4 ? "0" : "1"}};
    }
    return {.resource = resource,
            .register_key = register_key,
            .registered = hami::EncodeRegister(all),
            .to_allocate_key = "hami.io/" + word + "-devices-to-allocate",
            .word = word};
  }
  static FakePlugin Ascend(const std::string& word, size_t devices) {
    return PluginOf(
        "huawei.com/" + word, "hami.io/node-register-" + word, word, devices,
        {.id = "", .count = 4, .devmem = 65536, .devcore = 20, .type = word, .health = true});
  }
  static FakePlugin Xpu() {
    FakePlugin plugin =
        PluginOf("kunlunxin.com/vxpu", "hami.io/node-register-xpu", "XPU", 1,
                 {.id = "", .count = 4, .devmem = 98304, .devcore = 100, .health = true});
    plugin.to_allocate_key = "hami.io/xpu-devices-to-allocate";
    return plugin;
  }
  static FakePlugin Amd(size_t devices) {
    FakePlugin plugin = PluginOf(
        "amd.com/gpu", "hami.io/node-amd-register", "AMD", devices,
        {.id = "", .count = 10, .devmem = 1000, .devcore = 304, .type = "AMD", .health = true});
    plugin.to_allocate_key = "hami.io/amd-devices-to-allocate";
    return plugin;
  }
  static FakePlugin Hygon() {
    return {.resource = "hygon.com/dcunum",
            .register_key = "hami.io/node-dcu-register",
            .registered = "d0,4,65536,100,DCU,0,true:d1,4,65536,100,DCU,0,true:",
            .to_allocate_key = "hami.io/dcu-devices-to-allocate",
            .word = "DCU"};
  }
  static kube::Pod AscendPod(const std::string& name, const std::string& word, int count,
                             const std::string& memory = "") {
    kube::Texts limits{{"huawei.com/" + word, std::to_string(count)}};
    if (!memory.empty()) limits["huawei.com/" + word + "-memory"] = memory;
    return PodOf(name, std::move(limits));
  }
  static kube::Pod XpuPod(const std::string& name, const std::string& memory) {
    return PodOf(name, {{"kunlunxin.com/vxpu", "1"}, {"kunlunxin.com/vxpu-memory", memory}});
  }
};

TEST_F(VendorsTest, APodOfTwoVendorsIsRefusedByTheNamesOfBoth) {
  cluster_.PutNode(Amd(1).Node());
  EXPECT_EQ(WhyNot(Pod("p", {Container("a", {{"nvidia.com/gpu", "1"}}),
                             Container("b", {{"amd.com/gpumem", "100"}})})),
            "container a asks for nvidia.com/gpu, and container b for amd.com/gpumem: no node has "
            "devices of both; make a pod for each");
}

TEST_F(VendorsTest, WhatAVendorCannotMeanIsRefusedByName) {
  cluster_.PutNode(Amd(1).Node());
  EXPECT_EQ(WhyNot(PodOf("p", {{"amd.com/gpu", "1"}, {"amd.com/gpumem", "16Gi"}})),
            "container main asks for 16Gi of amd.com/gpumem: write how many MiB of each device, a "
            "whole number from 0 to 2147483647 without a unit, such as 16384");
  EXPECT_EQ(
      WhyNot(PodOf("p", {{"iluvatar.ai/BI-V100-vgpu", "1"}, {"iluvatar.ai/BI-V100.vMem", "-1"}})),
      "container main asks for -1 of iluvatar.ai/BI-V100.vMem: write how many times 256 MiB "
      "of each device, a whole number from 0 to 8388607");
  EXPECT_EQ(WhyNot(XpuPod("p", "98305")),
            "container main asks for 98305 of kunlunxin.com/vxpu-memory: write how many MiB of "
            "each device, a whole number from 0 to 98304");
  EXPECT_EQ(WhyNot(PodOf("p", {{"vastaitech.com/va", "1.5"}})),
            "container main asks for 1.5 of vastaitech.com/va: write how many devices, a whole "
            "number from 0 to 2147483647");
}

TEST_F(VendorsTest, ANodeOfTwoVendorsGivesEachPodItsOwn) {
  FakePlugin amd = Amd(1);
  kube::ClusterNode node = amd.Node();
  const hami::RegisteredDevice gpu{.id = "GPU-0",
                                   .count = 10,
                                   .devmem = 8000,
                                   .devcore = 100,
                                   .type = "NVIDIA A100",
                                   .health = true};
  node.annotations["hami.io/node-nvidia-register"] = hami::EncodeRegister(std::vector{gpu});
  node.annotations[std::string(kAgentMark)] = "1.0 late-bound";
  cluster_.PutNode(node);
  EXPECT_EQ(Run(PodOf("amd", {{"amd.com/gpu", "1"}, {"amd.com/gpumem", "100"}}), amd),
            Given{"d0 100 304"});
  const kube::Pod nvidia =
      PodOf("nvidia", {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "3000"}});
  ASSERT_EQ(WhyNot(nvidia), "");
  EXPECT_FALSE(cluster_.NeedsLock(nvidia.uid, "worker-1"));
  const auto binding =
      cluster_.PlaceOn({"team", "nvidia", nvidia.uid, "worker-1"}, clock_.Now(), clock_.WallNow());
  EXPECT_EQ(binding->annotations.at("hami.io/vgpu-devices-allocated"), "GPU-0,NVIDIA,3000,0:;");
  EXPECT_EQ(WhyNot(PodOf("q", {{"hygon.com/dcunum", "1"}})), "the node has registered no devices");
}

TEST_F(VendorsTest, UsersChooseByTheVendorsAnnotations) {
  FakePlugin plugin = Amd(2);
  cluster_.PutNode(plugin.Node());
  kube::Pod pod = PodOf("p", {{"amd.com/gpu", "1"}, {"amd.com/gpumem", "100"}});
  pod.annotations["amd.com/use-gpu-uuid"] = "d0";
  EXPECT_EQ(Run(pod, plugin), Given{"d0 100 304"});
  pod = PodOf("q", {{"amd.com/gpu", "1"}});
  pod.annotations["amd.com/nouse-gputype"] = "amd";
  EXPECT_EQ(WhyNot(pod), "too few devices are of a type that the pod wants");
  for (const char* key : {"amd.com/use-gpu-uuid", "huawei.com/vnpu-mode", "nvidia.com/numa-bind",
                          "vastaitech.com/use-gpuuuid"}) {
    EXPECT_EQ(std::ranges::count(cluster_.PodFields().keys, key), 1) << key;
  }
  for (const char* name : {"amd.com/gpucores", "huawei.com/Ascend310P-core", "nvidia.com/gpu",
                           "kunlunxin.com/vxpu-memory"}) {
    EXPECT_TRUE(cluster_.PodFields().resource(name)) << name;
  }
  EXPECT_FALSE(cluster_.PodFields().resource("cpu"));
  for (const char* key : {"hami.io/node-register-Ascend910B3", "hami.io/node-dcu-register",
                          "hami-vnpu-core", "hami.io/mutex.lock"}) {
    EXPECT_TRUE(cluster_.NodeFields().annotation(key)) << key;
  }
}

TEST_F(VendorsTest, APluginThatOffersNothingIsGone) {
  FakePlugin plugin = Amd(1);
  plugin.offered = "0";
  cluster_.PutNode(plugin.Node());
  EXPECT_EQ(WhyNot(PodOf("p", {{"amd.com/gpu", "1"}})), "too few devices are healthy");
  plugin.offered = "1k";
  cluster_.PutNode(plugin.Node());
  EXPECT_EQ(WhyNot(PodOf("p", {{"amd.com/gpu", "1"}})), "");
}

TEST_F(VendorsTest, WhatPodsHaveIsKnownAfterARestart) {
  FakePlugin plugin = Amd(1);
  cluster_.PutNode(plugin.Node());
  kube::Pod pod =
      PodOf("p", {{"amd.com/gpu", "1"}, {"amd.com/gpumem", "600"}, {"amd.com/gpucores", "10"}});
  Bind(pod, plugin);
  Cluster anew(Served(table_), {});
  anew.PutNode(plugin.Node());
  anew.PutPod(std::make_shared<const kube::Pod>(pod));
  const kube::Pod next =
      PodOf("q", {{"amd.com/gpu", "1"}, {"amd.com/gpumem", "600"}, {"amd.com/gpucores", "10"}});
  EXPECT_EQ(anew.Filter({.pod = next, .nodes = {"worker-1"}}, clock_.Now()).failed.at("worker-1"),
            "devices have too little memory left");
}

TEST_F(VendorsTest, QuotasOfNvidiasNamesAreNotAboutOthers) {
  cluster_.quotas().Put(
      {.quota_namespace = "team", .name = "gpus", .hard = {{"limits.nvidia.com/gpumem", "100"}}});
  FakePlugin plugin = Amd(1);
  cluster_.PutNode(plugin.Node());
  kube::Pod pod = PodOf("p", {{"amd.com/gpu", "1"}, {"amd.com/gpumem", "600"}});
  Bind(pod, plugin);
  std::vector<Quotas::Limit> limits;
  cluster_.quotas().EachLimit([&](const Quotas::Limit& limit) { limits.push_back(limit); });
  EXPECT_EQ(limits, (std::vector<Quotas::Limit>{{"team", "nvidia.com/gpumem", 0, 100}}));
}

TEST_F(VendorsTest, WhoNamesNoCoresOfAmdHasAllOfThem) {
  FakePlugin plugin = Amd(1);
  cluster_.PutNode(plugin.Node());
  EXPECT_EQ(Run(PodOf("p", {{"amd.com/gpu", "1"}, {"amd.com/gpumem", "100"}}), plugin),
            Given{"d0 100 304"});
  EXPECT_EQ(WhyNot(PodOf(
                "q", {{"amd.com/gpu", "1"}, {"amd.com/gpumem", "100"}, {"amd.com/gpucores", "1"}})),
            "devices have too little compute time left");
}

TEST_F(VendorsTest, SeveralOfHygonsAreWholes) {
  FakePlugin plugin = Hygon();
  cluster_.PutNode(plugin.Node());
  EXPECT_EQ(WhyNot(PodOf("p", {{"hygon.com/dcunum", "2"}, {"hygon.com/dcumem", "1000"}})),
            "a container asks for parts of several devices, which are granted whole only");
  EXPECT_EQ(WhyNot(PodOf("p", {{"hygon.com/dcunum", "2"}, {"hygon.com/dcucores", "50"}})),
            "a container asks for parts of several devices, which are granted whole only");
  EXPECT_EQ(Run(PodOf("p", {{"hygon.com/dcunum", "2"}}), plugin),
            Given{"d1 65536 100, d0 65536 100"});
}

TEST_F(VendorsTest, SeveralOfIluvatarsHaveAllTheirTime) {
  FakePlugin plugin{.resource = "iluvatar.ai/MR-V50-vgpu",
                    .register_key = "hami.io/node-MR-V50-register",
                    .registered = "d0,100,16384,100,MR-V50,0,true:d1,100,16384,100,MR-V50,0,true:",
                    .to_allocate_key = "hami.io/MR-V50-devices-to-allocate",
                    .word = "MR-V50"};
  cluster_.PutNode(plugin.Node());
  const auto pod = [](const std::string& cores) {
    return PodOf("p", {{"iluvatar.ai/MR-V50-vgpu", "2"},
                       {"iluvatar.ai/MR-V50.vMem", "1"},
                       {"iluvatar.ai/MR-V50.vCore", cores}});
  };
  EXPECT_EQ(WhyNot(pod("50")),
            "container main asks for 50 of iluvatar.ai/MR-V50.vCore and for 2 whole devices; write "
            "200, or leave it out");
  EXPECT_EQ(Run(pod("200"), plugin), Given{"d1 256 100, d0 256 100"});
}

TEST_F(VendorsTest, PartsOfAnXpuAreOfOneSize) {
  FakePlugin plugin = Xpu();
  cluster_.PutNode(plugin.Node());
  EXPECT_EQ(Run(XpuPod("p", "24576"), plugin), Given{"d0 24576 0"});
  EXPECT_EQ(WhyNot(XpuPod("q", "24577")), "devices are divided into parts of another size");
  EXPECT_EQ(Run(XpuPod("r", "1000"), plugin), Given{"d0 24576 0"});
}

TEST_F(VendorsTest, AscendsAreHadByTemplates) {
  FakePlugin plugin = Ascend("Ascend910B3", 1);
  cluster_.PutNode(plugin.Node());
  EXPECT_EQ(Run(AscendPod("p", "Ascend910B3", 1, "16385"), plugin), Given{"d0 32768 0"});
  EXPECT_EQ(Run(AscendPod("q", "Ascend910B3", 1, "1"), plugin), Given{"d0 16384 0"});
  EXPECT_EQ(WhyNot(AscendPod("r", "Ascend910B3", 1, "16385")),
            "devices have too little memory left");
  EXPECT_EQ(WhyNot(AscendPod("s", "Ascend910B3", 1)), "devices have too little memory left");
  EXPECT_EQ(WhyNot(AscendPod("t", "Ascend910B3", 2, "16384")),
            "container main asks for 2 of huawei.com/Ascend910B3 and for a part of each by "
            "huawei.com/Ascend910B3-memory; several devices are granted whole only, so ask for one "
            "or leave out the part");
}

TEST_F(VendorsTest, AllOfAnAscendHasNoTemplate) {
  FakePlugin plugin = Ascend("Ascend310P", 1);
  plugin.registered = R"([{"id":"d0","count":7,"devmem":21527,"devcore":8,)"
                      R"("type":"Ascend310P","health":true}])";
  cluster_.PutNode(plugin.Node());
  kube::Pod pod = AscendPod("p", "Ascend310P", 1, "24000");
  Bind(pod, plugin);
  EXPECT_EQ(pod.Annotation("huawei.com/Ascend310P"), R"([{"UUID":"d0"}])");
  EXPECT_EQ(plugin.Allocate(pod), "d0 21527 0");
}

TEST_F(VendorsTest, AscendsModeIsThatOfThePod) {
  FakePlugin plugin = Ascend("Ascend910B3", 1);
  cluster_.PutNode(plugin.Node());
  kube::Pod pod = AscendPod("p", "Ascend910B3", 1, "1000");
  pod.annotations["huawei.com/vnpu-mode"] = "hami-core";
  EXPECT_EQ(WhyNot(pod), "too few devices are divided in the way that the pod wants");
  plugin.more = {{"hami-vnpu-core", "true"}};
  cluster_.PutNode(plugin.Node());
  EXPECT_EQ(WhyNot(AscendPod("q", "Ascend910B3", 1, "1000")),
            "too few devices are divided in the way that the pod wants");
  EXPECT_EQ(Run(pod, plugin), Given{"d0 1000 0"});
  // A pod without either would get a share without a limit.
  pod.annotations["huawei.com/vnpu-mode"] = "hami-core,template";
  pod.uid = "another";
  EXPECT_EQ(WhyNot(pod), "too few devices are divided in the way that the pod wants");
  kube::Pod cores = AscendPod("r", "Ascend910B3", 1);
  cores.containers[0].limits["huawei.com/Ascend910B3-core"] = "50";
  EXPECT_EQ(WhyNot(cores),
            "container main asks for huawei.com/Ascend910B3-core, which needs the pod's annotation "
            "huawei.com/vnpu-mode: hami-core: add that, or leave it out");
}

TEST_F(VendorsTest, SeveralAscendsAreOfOneBoardWhereItHasRoom) {
  FakePlugin plugin = Ascend("Ascend910B2", 8);
  cluster_.PutNode(plugin.Node());
  // The board with the highest indices comes first, and one of its devices is used.
  EXPECT_EQ(Run(AscendPod("p", "Ascend910B2", 1, "8192"), plugin), Given{"d7 8192 0"});
  EXPECT_EQ(Run(AscendPod("q", "Ascend910B2", 4), plugin),
            Given{"d3 65536 0, d2 65536 0, d1 65536 0, d0 65536 0"});
  EXPECT_EQ(Run(AscendPod("r", "Ascend910B2", 3), plugin),
            Given{"d6 65536 0, d5 65536 0, d4 65536 0"});
}

TEST_F(VendorsTest, Ascend910CsGoByPairs) {
  FakePlugin plugin = Ascend("Ascend910C", 6);
  cluster_.PutNode(plugin.Node());
  EXPECT_EQ(WhyNot(AscendPod("p", "Ascend910C", 3)),
            "container main asks for 3 of huawei.com/Ascend910C, which are granted in groups of 2; "
            "write a multiple of that");
  EXPECT_EQ(Run(AscendPod("q", "Ascend910C", 1), plugin), Given{"d5 65536 0, d4 65536 0"});
  kube::ClusterNode sick = plugin.Node();
  std::string& registered = sick.annotations[plugin.register_key];
  const size_t at = registered.find(R"("health":true)", registered.find("\"d2\""));
  registered.replace(at, 13, R"("health":null)");
  cluster_.PutNode(sick);
  EXPECT_EQ(WhyNot(AscendPod("r", "Ascend910C", 4)), "devices have too little memory left");
  EXPECT_EQ(Run(AscendPod("s", "Ascend910C", 2), plugin), Given{"d1 65536 0, d0 65536 0"});
  EXPECT_EQ(WhyNot(AscendPod("t", "Ascend910C", 2)), "devices have too little memory left");
}

TEST_F(VendorsTest, DiesOfTwoCardsAreNotTogether) {
  FakePlugin plugin{.resource = "vastaitech.com/va",
                    .register_key = "hami.io/node-va-register",
                    .registered = R"([{"id":"d0","count":1,"health":true,)"
                                  R"("custominfo":{"AIC":0,"DeviceStrategy":"die"}},)"
                                  R"({"id":"d1","count":1,"health":true,)"
                                  R"("custominfo":{"AIC":1,"DeviceStrategy":"die"}}])",
                    .to_allocate_key = "hami.io/Vastai-devices-to-allocate",
                    .word = "Vastai"};
  cluster_.PutNode(plugin.Node());
  EXPECT_EQ(WhyNot(PodOf("p", {{"vastaitech.com/va", "2"}})), "too few devices belong together");
  for (size_t at = 0; (at = plugin.registered.find("\"die\"", at)) != std::string::npos;) {
    plugin.registered.replace(at, 5, "\"card\"");
  }
  cluster_.PutNode(plugin.Node());
  EXPECT_EQ(Run(PodOf("p", {{"vastaitech.com/va", "2"}}), plugin), Given{"d1 0 0, d0 0 0"});
}

}  // namespace
}  // namespace tessera::scheduler
