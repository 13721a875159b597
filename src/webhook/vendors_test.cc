// SPDX-License-Identifier: Apache-2.0
// Pods that request devices of vendors other than NVIDIA.
#include "hami/vendor_table.h"
#include "webhook/decision_under_test.h"

namespace tessera::webhook {
namespace {

class WebhookVendorsTest : public ::testing::Test {
 protected:
  WebhookVendorsTest() {
    for (const hami::ServedVendor& served : table_.rows()) {
      rules_.devices.push_back(
          {.vendor = served.vendor, .requests = served.rules, .core_requests = served.core_rules});
    }
  }
  static std::vector<hami::VendorConfig> Configs() {
    std::vector<hami::VendorConfig> all;
    for (const char* family : {"amd", "ascend", "iluvatar"}) {
      for (hami::VendorConfig& config : hami::UsualConfigs(family)) {
        all.push_back(std::move(config));
      }
    }
    return all;
  }
  std::string Refusal(const std::string& limits, const std::string& more = "") {
    const Decision decision = DecisionOn(PodWith(limits, more), rules_);
    EXPECT_FALSE(decision.allowed);
    return decision.message;
  }
  // An operation on the limits of the only container.
  static std::string Limit(const std::string& name, const std::string& value) {
    return fmt::format(
        R"({{"op":"add","path":"/spec/containers/0/resources/limits/{}","value":"{}"}})", name,
        value);
  }

  const hami::VendorTable table_{Configs()};
  Rules rules_ = RulesUnderTest();
};

TEST_F(WebhookVendorsTest, WhoAsksForMemoryAloneGetsTheCountAndNoCores) {
  EXPECT_EQ(PatchOn(PodWith(R"("amd.com/gpumem": "3000")"), rules_),
            "[" + Limit("amd.com~1gpu", "1") + "]");
  EXPECT_EQ(PatchOn(PodWith(R"("amd.com/gpu": "1")"), rules_), "[]");
}

TEST_F(WebhookVendorsTest, APodBecomesOurs) {
  EXPECT_EQ(
      PatchOn(PodOf(R"({"name": "c", "resources": {"limits": {"amd.com/gpu": "1"}}})"), rules_),
      R"([{"op":"add","path":"/spec/schedulerName","value":"hami-scheduler"}])");
}

TEST_F(WebhookVendorsTest, TwoVendorsInOnePodAreRefused) {
  EXPECT_EQ(Refusal(R"("amd.com/gpu": "1", "nvidia.com/gpumem": "1")"),
            "pod team/p: container c asks for nvidia.com/gpumem, and container c for amd.com/gpu: "
            "no node has devices of both; make a pod for each");
}

TEST_F(WebhookVendorsTest, AQuantityThatTheVendorCannotMeanIsRefusedByName) {
  EXPECT_EQ(Refusal(R"("amd.com/gpu": "1", "amd.com/gpumem": "16Gi")"),
            "pod team/p: container c asks for 16Gi of amd.com/gpumem: write how many MiB of each "
            "device, a whole number from 0 to 2147483647 without a unit, such as 16384");
  EXPECT_EQ(Refusal(R"("huawei.com/Ascend310P": "1", "huawei.com/Ascend310P-memory": "24577")"),
            "pod team/p: container c asks for 24577 of huawei.com/Ascend310P-memory: write how "
            "many MiB of each device, a whole number from 0 to 24576");
  EXPECT_EQ(Refusal(R"("iluvatar.ai/BI-V150-vgpu": "1", "iluvatar.ai/BI-V150.vMem": "0.5")"),
            "pod team/p: container c asks for 0.5 of iluvatar.ai/BI-V150.vMem: write how many "
            "times 256 MiB of each device, a whole number from 0 to 8388607");
}

TEST_F(WebhookVendorsTest, MemoryIsRoundedUpToASizeThatThereIs) {
  EXPECT_EQ(PatchOn(PodWith(R"("huawei.com/Ascend910B3": "1",
                               "huawei.com/Ascend910B3-memory": "10000")"),
                    rules_),
            "[" + Limit("huawei.com~1Ascend910B3-memory", "16384") + "]");
  EXPECT_EQ(PatchOn(PodWith(R"("huawei.com/Ascend910B3": "1",
                               "huawei.com/Ascend910B3-memory": "32768")"),
                    rules_),
            "[]");
}

TEST_F(WebhookVendorsTest, InHamisModeMemoryIsOfAnySize) {
  EXPECT_EQ(PatchOn(PodMarked(R"("annotations": {"huawei.com/vnpu-mode": "hami-core"})",
                              R"("huawei.com/Ascend910B3": "1",
                                 "huawei.com/Ascend910B3-memory": "10000",
                                 "huawei.com/Ascend910B3-core": "10")"),
                    rules_),
            "[]");
}

TEST_F(WebhookVendorsTest, WhatGoesByPairsBecomesAPair) {
  EXPECT_EQ(PatchOn(PodWith(R"("huawei.com/Ascend910C": "1")"), rules_),
            "[" + Limit("huawei.com~1Ascend910C", "2") + "]");
  EXPECT_EQ(Refusal(R"("huawei.com/Ascend910C": "3")"),
            "pod team/p: container c asks for 3 of huawei.com/Ascend910C, which are granted in "
            "groups of 2; write a multiple of that");
  EXPECT_EQ(Refusal(R"("huawei.com/Ascend910C": "1", "huawei.com/Ascend910C-memory": "1")"),
            "pod team/p: container c asks for 2 of huawei.com/Ascend910C and for a part of each by "
            "huawei.com/Ascend910C-memory; several devices are granted whole only, so ask for one "
            "or leave out the part");
}

TEST_F(WebhookVendorsTest, SeveralOfIluvatarsGetAllCoresAndContainersTheirName) {
  EXPECT_EQ(PatchOn(PodWith(R"("iluvatar.ai/MR-V100-vgpu": "2")"), rules_),
            "[" + Limit("iluvatar.ai~1MR-V100.vCore", "200") +
                R"(,{"op":"add","path":"/spec/containers/0/env",)"
                R"("value":[{"name":"SOL_CONTINER_NAME","value":"c"}]}])");
}

TEST_F(WebhookVendorsTest, ContainersWithoutDevicesAreToldSoWhereThatIsSet) {
  for (DeviceRules& devices : rules_.devices) {
    devices.hides_devices = true;
    devices.runtime_class = "ascend";
  }
  EXPECT_EQ(PatchOn(PodOf(R"({"name": "c", "resources": {"limits": {"huawei.com/Ascend910A": "1"}}},
                             {"name": "d"})",
                          R"("schedulerName": "hami-scheduler",)"),
                    rules_),
            R"([{"op":"add","path":"/spec/runtimeClassName","value":"ascend"},)"
            R"({"op":"add","path":"/spec/containers/1/env",)"
            R"("value":[{"name":"ASCEND_VISIBLE_DEVICES","value":""}]}])");
}

TEST_F(WebhookVendorsTest, NoAgentFitsAPodThatNamesItsNode) {
  const Decision decision =
      DecisionOn(PodOf(R"({"name": "c", "resources": {"limits": {"amd.com/gpu": "1"}}})",
                       R"("nodeName": "a",)"),
                 rules_, {.fitting_unplaced = {"a"}});
  EXPECT_EQ(decision.message,
            "pod team/p: spec.nodeName a bypasses the scheduler that chooses devices: use "
            "spec.nodeSelector with kubernetes.io/hostname");
}

TEST_F(WebhookVendorsTest, WarningsAreOfTheVendorsOwnDevices) {
  const ClusterFacts facts{.most = {{.memory = 80'000, .on_node = 8}, {.memory = 2'000}}};
  EXPECT_EQ(
      DecisionOn(PodWith(R"("amd.com/gpu": "9", "amd.com/gpumem": "2001")"), rules_, facts)
          .warnings,
      std::vector<std::string>{
          "container c asks for 2001 MiB of each device, but no device here has more than 2000"});
}

TEST_F(WebhookVendorsTest, WhatAscendsPluginReadsIsOfTheProtocol) {
  rules_.guard = {.on = true, .writers = {"hami"}};
  for (const char* key : {"huawei.com/Ascend910B3", "hami.io/amd-cu-allocated"}) {
    EXPECT_EQ(
        DecisionOn(PodMarked(fmt::format(R"("annotations": {{"{}": "x"}})", key), kShare), rules_)
            .message,
        fmt::format("pod team/p: {}: reserved for the scheduler and the nodes' agents; leave it "
                    "out of the pod and request devices in resources.limits",
                    key));
  }
}

}  // namespace
}  // namespace tessera::webhook
