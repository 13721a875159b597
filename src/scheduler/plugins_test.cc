// SPDX-License-Identifier: Apache-2.0
// Each vendor's plugin finds the devices that the scheduler chose.
#include "scheduler/plugin_under_test.h"

namespace tessera::scheduler {
namespace {

using PluginsTest = VendorClusterTest;

constexpr char kAmdGpu[] = "8eff74b5-0000-1000-801b-b56457addd1b";

FakePlugin Amd() {
  return {.resource = "amd.com/gpu",
          .register_key = "hami.io/node-amd-register",
          .registered =
              R"([{"id":"8eff74b5-0000-1000-801b-b56457addd1b","index":1,"count":10,)"
              R"("devmem":196288,"devcore":304,"type":"AMD Instinct MI300X VF","numa":0,)"
              R"("health":true,"devicevendor":"amd","custominfo":{"pciBDF":"0000:83:00.0"}}])",
          .to_allocate_key = "hami.io/amd-devices-to-allocate",
          .word = "AMD"};
}

TEST_F(PluginsTest, AmdsGetsPercentOfComputeUnits) {
  FakePlugin plugin = Amd();
  cluster_.PutNode(plugin.Node());
  const std::string gpu = kAmdGpu;
  EXPECT_EQ(Run(Pod("p", {Container("a", {{"amd.com/gpu", "1"},
                                          {"amd.com/gpumem", "49152"},
                                          {"amd.com/gpucores", "25"}}),
                          Container("b", {{"amd.com/gpu", "1"},
                                          {"amd.com/gpumem", "1000"},
                                          {"amd.com/gpucores", "33"}})}),
                plugin),
            (Given{gpu + " 49152 76", gpu + " 1000 100"}));
}

FakePlugin Hygon() {
  return {.resource = "hygon.com/dcunum",
          .register_key = "hami.io/node-dcu-register",
          .registered =
              "DCU-1,4,65536,100,DCU-K100,0,true,0,hami-core:"
              "DCU-2,4,65536,100,DCU-K100,1,true,1,hami-core:",
          .to_allocate_key = "hami.io/dcu-devices-to-allocate",
          .word = "DCU"};
}

TEST_F(PluginsTest, HygonsGetsItsTextRegistersDevices) {
  FakePlugin plugin = Hygon();
  cluster_.PutNode(plugin.Node());
  EXPECT_EQ(
      Run(Pod("p", {Container("a", {{"hygon.com/dcunum", "1"},
                                    {"hygon.com/dcumem", "16384"},
                                    {"hygon.com/dcucores", "50"}}),
                    Container("b", {{"hygon.com/dcunum", "1"}, {"hygon.com/dcumem", "1024"}})}),
          plugin),
      (Given{"DCU-2 16384 50", "DCU-1 1024 100"}));
}

FakePlugin Iluvatar() {
  return {.resource = "iluvatar.ai/MR-V100-vgpu",
          .register_key = "hami.io/node-MR-V100-register",
          .registered = "GPU-1,100,32768,100,MR-V100,0,true,0,hami-core:",
          .to_allocate_key = "hami.io/MR-V100-devices-to-allocate",
          .word = "MR-V100"};
}

TEST_F(PluginsTest, IluvatarsGetsMemoryInItsUnits) {
  FakePlugin plugin = Iluvatar();
  cluster_.PutNode(plugin.Node());
  EXPECT_EQ(Run(PodOf("p", {{"iluvatar.ai/MR-V100-vgpu", "1"},
                            {"iluvatar.ai/MR-V100.vMem", "16"},
                            {"iluvatar.ai/MR-V100.vCore", "50"}}),
                plugin),
            Given{"GPU-1 4096 50"});
}

FakePlugin Biren() {
  return {.resource = "birentech.com/gpu",
          .register_key = "hami.io/node-biren-register",
          .registered = R"([{"id":"card_0","count":1,"type":"BR104","health":true},)"
                        R"({"id":"card_1","index":1,"count":1,"type":"BR104","health":true}])",
          .to_allocate_key = "hami.io/Biren-devices-to-allocate",
          .word = "Biren"};
}

TEST_F(PluginsTest, BirensGetsWholeDevicesWithoutSizes) {
  FakePlugin plugin = Biren();
  cluster_.PutNode(plugin.Node());
  EXPECT_EQ(Run(PodOf("p", {{"birentech.com/gpu", "2"}}), plugin), Given{"card_1 0 0, card_0 0 0"});
  EXPECT_EQ(WhyNot(PodOf("q", {{"birentech.com/gpu", "1"}})),
            "the devices already have as many containers as they may");
}

FakePlugin Vastai() {
  return {.resource = "vastaitech.com/va",
          .register_key = "hami.io/node-va-register",
          .registered = R"([{"id":"va-0","count":1,"type":"VA1","health":true,)"
                        R"("custominfo":{"AIC":0,"DeviceStrategy":"die"}},)"
                        R"({"id":"va-1","index":1,"count":1,"type":"VA1","health":true,)"
                        R"("custominfo":{"AIC":1,"DeviceStrategy":"die"}},)"
                        R"({"id":"va-2","index":2,"count":1,"type":"VA1","health":true,)"
                        R"("custominfo":{"AIC":1,"DeviceStrategy":"die"}}])",
          .to_allocate_key = "hami.io/Vastai-devices-to-allocate",
          .word = "Vastai"};
}

TEST_F(PluginsTest, VastaisGetsDiesOfOneCard) {
  FakePlugin plugin = Vastai();
  cluster_.PutNode(plugin.Node());
  EXPECT_EQ(Run(PodOf("p", {{"vastaitech.com/va", "2"}}), plugin), Given{"va-2 0 0, va-1 0 0"});
}

FakePlugin Xpu() {
  return {.resource = "kunlunxin.com/vxpu",
          .register_key = "hami.io/node-register-xpu",
          .registered = R"([{"id":"00000000-03-00.0","count":4,"devmem":98304,"devcore":100,)"
                        R"("type":"P800-OAM","health":true}])",
          .to_allocate_key = "hami.io/xpu-devices-to-allocate",
          .word = "XPU"};
}

TEST_F(PluginsTest, XpusGetsMemoryInItsSizes) {
  FakePlugin plugin = Xpu();
  cluster_.PutNode(plugin.Node());
  EXPECT_EQ(Run(PodOf("p", {{"kunlunxin.com/vxpu", "1"}, {"kunlunxin.com/vxpu-memory", "30000"}}),
                plugin),
            Given{"00000000-03-00.0 49152 0"});
}

FakePlugin Ascend() {
  return {.resource = "huawei.com/Ascend910B3",
          .register_key = "hami.io/node-register-Ascend910B3",
          .registered = R"([{"id":"42C711D4-1","count":4,"devmem":65536,"devcore":20,)"
                        R"("type":"Ascend910B3","health":true,"custominfo":{"NetworkID":0}}])",
          .to_allocate_key = "hami.io/Ascend910B3-devices-to-allocate",
          .word = "Ascend910B3"};
}

TEST_F(PluginsTest, AscendsGetsTheTemplateOfEachDevice) {
  FakePlugin plugin = Ascend();
  cluster_.PutNode(plugin.Node());
  kube::Pod pod =
      PodOf("p", {{"huawei.com/Ascend910B3", "1"}, {"huawei.com/Ascend910B3-memory", "10000"}});
  Bind(pod, plugin);
  EXPECT_EQ(pod.Annotation("huawei.com/Ascend910B3"),
            R"([{"UUID":"42C711D4-1","temp":"vir05_1c_16g"}])");
  EXPECT_EQ(pod.Annotation("predicate-time"), pod.Annotation("hami.io/vgpu-time"));
  EXPECT_EQ(plugin.Allocate(pod), "42C711D4-1 16384 0");
  EXPECT_EQ(plugin.mutex, "");
}

TEST_F(PluginsTest, AscendsInHamisModeGetsMemoryAndCores) {
  FakePlugin plugin = Ascend();
  plugin.more = {{"hami-vnpu-core", "true"}};
  plugin.registered = R"([{"id":"42C711D4-1","count":4,"devmem":65536,"devcore":100,)"
                      R"("type":"Ascend910B3","health":true}])";
  cluster_.PutNode(plugin.Node());
  kube::Pod pod = PodOf("p", {{"huawei.com/Ascend910B3", "1"},
                              {"huawei.com/Ascend910B3-memory", "10000"},
                              {"huawei.com/Ascend910B3-core", "40"}});
  pod.annotations["huawei.com/vnpu-mode"] = "hami-core";
  Bind(pod, plugin);
  EXPECT_EQ(pod.Annotation("huawei.com/Ascend910B3"),
            R"([{"UUID":"42C711D4-1","memory":10000,"core":40}])");
  EXPECT_EQ(plugin.Allocate(pod), "42C711D4-1 10000 40");
}

}  // namespace
}  // namespace tessera::scheduler
