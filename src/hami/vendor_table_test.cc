// SPDX-License-Identifier: Apache-2.0
#include "hami/vendor_table.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace tessera::hami {
namespace {

TEST(VendorTable, HasARowOfEachVendorInTheOrderOfTheConfigurations) {
  const VendorTable table({UsualConfigs("amd")[0], UsualConfigs("hygon")[0]});
  ASSERT_EQ(table.rows().size(), 2U);
  EXPECT_EQ(table.rows()[0].vendor->word, "AMD");
  EXPECT_EQ(table.rows()[0].rules.count_name, "amd.com/gpu");
  EXPECT_EQ(table.rows()[0].rules.memory_name, "amd.com/gpumem");
  EXPECT_EQ(table.rows()[0].rules.cores_name, "amd.com/gpucores");
  EXPECT_EQ(table.rows()[0].rules.default_cores, 100);
  EXPECT_EQ(table.rows()[1].vendor->word, "DCU");
  EXPECT_EQ(table.rows()[1].vendor->node_register_format, Vendor::Register::kText);
}

TEST(VendorTable, AModelsWordStandsInAllItsAnnotations) {
  const VendorTable table({UsualConfigs("iluvatar")[0], UsualConfigs("ascend")[2]});
  const Vendor& model = *table.rows()[0].vendor;
  EXPECT_EQ(model.word, "MR-V100");
  EXPECT_EQ(model.node_register, "hami.io/node-MR-V100-register");
  EXPECT_EQ(model.node_handshake, "hami.io/node-handshake-MR-V100");
  EXPECT_EQ(model.pod_to_allocate, "hami.io/MR-V100-devices-to-allocate");
  EXPECT_EQ(model.pod_allocated, "hami.io/MR-V100-devices-allocated");
  EXPECT_EQ(model.use_id, "hami.io/use-MR-V100-uuid");
  EXPECT_EQ(model.no_use_id, "hami.io/no-use-MR-V100-uuid");
  EXPECT_EQ(table.rows()[0].rules.memory_factor, 256);
  const Vendor& chip = *table.rows()[1].vendor;
  EXPECT_EQ(chip.node_register, "hami.io/node-register-Ascend910B3");
  EXPECT_EQ(chip.pod_devices_json, "huawei.com/Ascend910B3");
  EXPECT_EQ(chip.pod_time, "predicate-time");
}

TEST(VendorTable, AChipIsDividedByItsTemplatesOrIsHadAsAWhole) {
  VendorConfig config = UsualConfigs("ascend")[5];
  config.memory_factor = 10;
  const VendorTable table({config});
  const ServedVendor& row = table.rows()[0];
  EXPECT_EQ(row.rules.sizes, (std::vector<int32_t>{3'072, 6'144, 12'288, 21'527}));
  EXPECT_EQ(row.rules.most_memory, 24'576);
  EXPECT_EQ(row.rules.memory_factor, 10);
  EXPECT_TRUE(row.rules.several_whole);
  EXPECT_EQ(row.RulesIn("hami-core").sizes, std::vector<int32_t>{});
  EXPECT_FALSE(row.RulesIn("hami-core").several_whole);
  EXPECT_EQ(&row.RulesIn(""), &row.rules);
}

TEST(VendorTable, TheAgentKnowsItsVendorsAndAllModelsOfAscend) {
  std::vector<std::string_view> words;
  for (const Vendor* vendor : AgentVendors()) words.push_back(vendor->word);
  EXPECT_EQ(words, (std::vector<std::string_view>{"NVIDIA", "AMD", "Ascend910A", "Ascend910B2",
                                                  "Ascend910B3", "Ascend910B4-1", "Ascend910B4",
                                                  "Ascend310P", "Ascend910C"}));
  EXPECT_EQ(AscendRow("Ascend910B4")->templates.front(), (ChipTemplate{"vir05_1c_8g", 8'192}));
  EXPECT_EQ(AscendRow("Ascend910B4")->vendor->templates.data(),
            AscendRow("Ascend910B4")->templates.data());
  EXPECT_EQ(AscendRow("Ascend310P")->vendor->second_board, 0U);
  EXPECT_EQ(AscendRow("Ascend310P")->vendor->register_board, "");
  EXPECT_EQ(AscendRow("Ascend910C")->vendor->register_board, "NetworkID");
  EXPECT_EQ(AscendRow("Ascend910"), nullptr);
}

TEST(VendorTable, OfTheUsualOnesEachNameIsThereOnce) {
  std::vector<VendorConfig> all;
  for (const std::string_view family : kFamilies) {
    const auto usual = UsualConfigs(family);
    EXPECT_FALSE(usual.empty()) << family;
    all.insert(all.end(), usual.begin(), usual.end());
  }
  EXPECT_EQ(all.size(), 16U);
  EXPECT_TRUE(UsualConfigs("cambricon").empty());
  std::multiset<std::string_view> names{kNvidia.count, kNvidia.node_register, kNvidia.pod_allocated,
                                        kNvidia.pod_to_allocate};
  const VendorTable table(all);
  for (const ServedVendor& row : table.rows()) {
    const Vendor& vendor = *row.vendor;
    EXPECT_FALSE(vendor.has_agent) << vendor.word;
    for (const std::string_view name : {vendor.word, vendor.node_register, vendor.pod_allocated,
                                        vendor.pod_to_allocate, vendor.count}) {
      EXPECT_NE(name, "") << vendor.word;
      names.insert(name);
    }
  }
  for (const std::string_view name : names) EXPECT_EQ(names.count(name), 1U) << name;
}

}  // namespace
}  // namespace tessera::hami
