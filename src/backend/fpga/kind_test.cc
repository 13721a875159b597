// SPDX-License-Identifier: Apache-2.0
#include "backend/kind.h"

#include <gtest/gtest.h>

#include "backend/fpga/fpga_config.h"
#include "config/told_test.h"

namespace tessera::fpga {
namespace {

using namespace config;  // the words of its keys

TEST(FpgaKind, AFamilyKnowsItsName) {
  const Config config =
      Good("resources: [{name: \"fpga.intel.com/{profile}\", fpga: {vendor: intel}}]\n");
  EXPECT_EQ(*config.resources[0].kind.As<FpgaConfig>(),
            (FpgaConfig{.family = "fpga.intel.com/{profile}"}));
}

TEST(FpgaKind, AResourceMayHaveOneProfile) {
  const Config config = Good(
      "resources: [{name: amd.com/ama_u30, fpga: {vendor: xilinx, profile: "
      "xilinx_u30_gen3x4_base_2-0}}]\n");
  EXPECT_EQ(
      *config.resources[0].kind.As<FpgaConfig>(),
      (FpgaConfig{.vendor = FpgaConfig::Vendor::kXilinx, .profile = "xilinx_u30_gen3x4_base_2-0"}));
}

TEST(FpgaKind, ResourcesOfTwoVendorsOrModesAreApart) {
  Good(
      "resources: [{name: fpga.intel.com/a, fpga: {vendor: intel}}, {name: fpga.intel.com/b, fpga: "
      "{vendor: intel, mode: regiondevel}}, {name: amd.com/c, fpga: {vendor: xilinx}}]\n");
}

TEST(FpgaKind, ContainersWithARegionHaveTheAnnotationOfIntelsHook) {
  const Config config = Good(
      "resources: [{name: a.com/b, strategies: [cdi-cri], cdi: {kind: a.com/fpga}, fpga: "
      "{vendor: intel, mode: region}}, {name: a.com/c, fpga: {vendor: intel}}]\n");
  EXPECT_EQ(config.resources[0].rendering.annotations,
            (std::map<std::string, std::string>{{"com.intel.fpga.mode", "fpga.intel.com/region"}}));
  EXPECT_TRUE(config.resources[1].rendering.annotations.empty());
}

const BadInput kBadInputs[] = {
    {"TheVendorIsMissing",
     "resources:\n"
     "- {name: amd.com/a, fpga: {}}\n",
     "t.yaml:3:27: resources[0].fpga needs the key 'vendor' [config-missing]\n"
     "- {name: amd.com/a, fpga: {}}\n"
     "                          ^\n"},
    {"AModeIsNotXilinxs",
     "resources:\n"
     "- {name: amd.com/a, fpga: {vendor: xilinx, mode: regiondevel}}\n",
     "t.yaml:3:50: resources[0].fpga.mode is for 'vendor: intel' alone [config-bad-value]\n"
     "- {name: amd.com/a, fpga: {vendor: xilinx, mode: regiondevel}}\n"
     "                                                 ^\n"},
    {"TwoResourcesHaveTheSameDevices",
     "resources:\n"
     "- {name: amd.com/a, fpga: {vendor: xilinx, profile: a-0}}\n"
     "- {name: amd.com/b, fpga: {vendor: xilinx}}\n",
     "t.yaml:4:27: resources[1].fpga has devices that resources[0] has as well: give both a "
     "'profile' of their own [config-duplicate]\n"
     "- {name: amd.com/b, fpga: {vendor: xilinx}}\n"
     "                          ^\n"},
    {"TwoModesOfRegionsHaveTheSameDevices",
     "resources:\n"
     "- {name: a.com/a, fpga: {vendor: intel, mode: regiondevel}}\n"
     "- {name: a.com/b, strategies: [cdi-cri], cdi: {kind: a.com/fpga}, fpga: {vendor: intel, "
     "mode: region}}\n",
     "t.yaml:4:73: resources[1].fpga has devices that resources[0] has as well: give both a "
     "'profile' of their own [config-duplicate]\n"
     "- {name: a.com/b, strategies: [cdi-cri], cdi: {kind: a.com/fpga}, fpga: {vendor: intel, "
     "mode: region}}\n"
     "                                                                        ^\n"},
};
using FpgaKindErrors = BadInputTest;

TEST_P(FpgaKindErrors, AreTold) {
  ExpectIsTold();
}

INSTANTIATE_TEST_SUITE_P(When, FpgaKindErrors, testing::ValuesIn(kBadInputs), NameOf);

}  // namespace
}  // namespace tessera::fpga
