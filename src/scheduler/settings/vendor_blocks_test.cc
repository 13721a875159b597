// SPDX-License-Identifier: Apache-2.0
#include "scheduler/settings/vendor_blocks.h"

#include <fmt/core.h>

#include <algorithm>

#include "scheduler/settings/print.h"
#include "scheduler/settings/settings_under_test.h"

namespace tessera::scheduler {
namespace {

using hami::VendorConfig;

std::vector<std::string> CountsOf(const Settings& settings) {
  std::vector<std::string> counts;
  for (const VendorConfig& config : settings.others) counts.push_back(config.count);
  return counts;
}

TEST(VendorBlocks, AVendorIsThereWhereItsBlockIs) {
  const Settings settings = Good({.hami = "amd: {}\nkunlun: {}\nvastai: {}\nbiren: {}\n"
                                          "hygon: {resourceCountName: a.io/dcu}\n"});
  EXPECT_EQ(settings.vendors, (std::vector<std::string>{"amd", "xpu", "vastai", "biren", "hygon"}));
  EXPECT_EQ(CountsOf(settings),
            (std::vector<std::string>{"amd.com/gpu", "birentech.com/gpu", "a.io/dcu",
                                      "vastaitech.com/va", "kunlunxin.com/vxpu"}));
  EXPECT_EQ(Good({.hami = "nvidia: {}\namd:\niluvatars: []\nvnpus: {configs: []}\n"}).vendors,
            std::vector<std::string>{"nvidia"});
}

TEST(VendorBlocks, OurFileTurnsVendorsOnByTheNamesOfHamisChart) {
  const Settings settings = Good({.own = "vendors: [nvidia, iluvatar]\n"});
  EXPECT_EQ(settings.others, hami::UsualConfigs("iluvatar"));
  EXPECT_EQ(Good({.own = "vendors: [amd]\n",
                  .hami = "amd: {resourceCountName: a.io/gpu}\n"
                          "hygon: {}\n"})
                .others.front()
                .count,
            "a.io/gpu");
  EXPECT_EQ(ToldOf({.own = "vendors: []\n"}),
            "s.yaml:2: vendors needs at least one vendor [config-missing]\n");
}

TEST(VendorBlocks, ChipsAreReadWithTheirTemplates) {
  const std::string chip =
      "{chipName: 910B3, commonWord: Ascend910B3, resourceName: a.io/npu, "
      "resourceMemoryName: a.io/npu-memory, resourceCoreName: a.io/npu-core, "
      "memoryAllocatable: 65536, memoryCapacity: 65537, memoryFactor: 1, aiCore: 20, aiCPU: 7, "
      "runtimeClassName: ascend, overwriteEnv: true, superPod: true, "
      "templates: [{name: vir05, memory: 16384, aiCore: 5, aiCPU: 1}]}";
  const VendorConfig wanted{.family = "ascend",
                            .word = "Ascend910B3",
                            .count = "a.io/npu",
                            .memory = "a.io/npu-memory",
                            .cores = "a.io/npu-core",
                            .allocatable = 65536,
                            .capacity = 65537,
                            .templates = {{"vir05", 16384}},
                            .pairs = true,
                            .runtime_class = "ascend",
                            .hides_devices = true};
  EXPECT_EQ(Good({.hami = "vnpus: {hamiVnpuCore: false, configs: [" + chip + "]}\n"}).others,
            std::vector<VendorConfig>{wanted});
  EXPECT_EQ(Good({.hami = "vnpus: [" + chip + "]\n"}).others, std::vector<VendorConfig>{wanted});
}

TEST(VendorBlocks, ModelsAreReadByTheirWords) {
  const Settings settings =
      Good({.hami = "iluvatars:\n  - {chipName: X, commonWord: MR-X, "
                    "resourceCountName: a.io/x, resourceCoreName: a.io/c}\n"});
  EXPECT_EQ(settings.others,
            (std::vector<VendorConfig>{
                {.family = "iluvatar", .word = "MR-X", .count = "a.io/x", .cores = "a.io/c"}}));
}

TEST(VendorBlocks, WhatIsWrongInABlockIsTold) {
  EXPECT_EQ(ToldOf({.hami = "amd: [1]\n"}),
            "h.yaml:1:6: amd takes a map of keys [config-wrong-type]\namd: [1]\n     ^\n");
  EXPECT_EQ(ToldOf({.hami = "vnpus:\n  - {commonWord: \"a,b\", resourceName: a.io/n}\n"}),
            "h.yaml:2:18: vnpus.commonWord is not a word such as Ascend910B3 [config-bad-value]\n"
            "  - {commonWord: \"a,b\", resourceName: a.io/n}\n                 ^\n");
  EXPECT_EQ(ToldOf({.hami = "vnpus:\n  - {commonWord: A, resourceName: a.io/n, "
                            "memoryAllocatable: -1}\n"}),
            "h.yaml:2:62: vnpus.memoryAllocatable takes a whole number from 0 to 2147483647 "
            "[config-bad-value]\n  - {commonWord: A, resourceName: a.io/n, memoryAllocatable: -1}\n"
            "                                                             ^\n");
}

TEST(VendorBlocks, ANameThatTwoVendorsHaveIsAnError) {
  EXPECT_EQ(ToldOf({.hami = "nvidia: {}\namd: {resourceCountName: nvidia.com/gpu}\n"}),
            "h.yaml: vendors have 'nvidia.com/gpu' twice: for nvidia.count and for amd "
            "[config-duplicate]\n");
}

TEST(VendorBlocks, TooManyModelsAreAnError) {
  std::string models = "iluvatars:\n";
  for (size_t i = 0; i <= hami::VendorTable::kMost; ++i) {
    models += fmt::format("  - {{commonWord: W{0}, resourceCountName: a.io/{0}}}\n", i);
  }
  EXPECT_EQ(ToldOf({.hami = models}),
            "h.yaml: vendors have more than 60 models [config-bad-value]\n");
}

TEST(VendorBlocks, WhatStaysWithHamisSchedulerIsWarnedOfByName) {
  const Loaded loaded =
      LoadGiven({.hami = "nvidia: {}\ncambricon: {}\nmetax: {}\nkunlun: {}\nenflame:\n"});
  EXPECT_TRUE(loaded.ok());
  EXPECT_EQ(config::Text(loaded.warnings),
            "h.yaml: cambricon, metax, kunlunxin.com/xpu of kunlun: these devices are not placed "
            "here; run HAMi's scheduler under another name and set it as these pods' schedulerName "
            "[config-unsupported]\n");
}

TEST(VendorBlocks, WhatOthersAreAskedForByIsPrinted) {
  const std::string text = PrintYaml(LoadGiven({.hami = "biren: {}\nhygon: {}\n"}));
  EXPECT_TRUE(
      text.ends_with("# biren: birentech.com/gpu\n"
                     "# hygon: hygon.com/dcunum, hygon.com/dcumem, hygon.com/dcucores\n"))
      << text;
}

}  // namespace
}  // namespace tessera::scheduler
