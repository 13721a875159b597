// SPDX-License-Identifier: Apache-2.0
#include "backend/amd/labels.h"

#include <gtest/gtest.h>

#include "amd/node.h"
#include "backend/amd/node_test.h"

namespace tessera::amd {
namespace {

class LabelsTest : public NodeTest {
 protected:
  Labels Read() const { return AmdLabeller(root_, true).Read().value(); }
};

TEST_F(LabelsTest, ANodeOfEqualGpusHasEachLabelAndInTheOlderFormTheirNumber) {
  AmdNode node(directory_, Mi300x());
  const Labels labels = Read();
  const Labels expected = {{"family", "AI"},
                           {"driver-version", "6.12.12"},
                           {"driver-src-version", "8EB2E6E2B2A7C3D4E5F6A7B"},
                           {"device-id", "74a1"},
                           {"product-name", "AMD_Instinct_MI300X_OAM"},
                           {"vram", "192G"},
                           {"simd-count", "1216"},
                           {"cu-count", "304"},
                           {"compute-memory-partition", "spx_nps1"},
                           {"compute-partitioning-supported", "true"},
                           {"memory-partitioning-supported", "true"},
                           {"mode", "container"}};
  Labels all;
  for (const auto& [suffix, value] : expected) {
    all["amd.com/gpu." + suffix] = all["beta.amd.com/gpu." + suffix] = value;
    all["beta.amd.com/gpu." + suffix + "." + value] = "8";
  }
  EXPECT_EQ(labels, all);
}

TEST_F(LabelsTest, AValueThatSomeGpusHaveIsInTheKeyWithTheirNumber) {
  AmdNode node(directory_, Mi300x());
  node.SetCompute(0, "CPX");
  const Labels labels = Read();
  EXPECT_EQ(labels.at("amd.com/gpu.compute-memory-partition.cpx_nps1"), "1");
  EXPECT_EQ(labels.at("amd.com/gpu.compute-memory-partition.spx_nps1"), "7");
  EXPECT_EQ(labels.at("beta.amd.com/gpu.compute-memory-partition.cpx_nps1"), "1");
  EXPECT_EQ(labels.count("amd.com/gpu.compute-memory-partition"), 0U);
  EXPECT_EQ(labels.count("beta.amd.com/gpu.compute-memory-partition"), 0U);
}

TEST_F(LabelsTest, AGpuThatItsDriverResetsKeepsItsLabels) {
  AmdNode node(directory_, Mi300x());
  AmdLabeller labeller(root_, true);
  const Labels before = labeller.Read().value();
  node.BeginReset(0);
  EXPECT_EQ(labeller.Read().value(), before);
  node.EndReset(0);
  EXPECT_EQ(labeller.Read().value(), before);
}

TEST_F(LabelsTest, AGpuThatItsDriverResetsFromTheBeginningSupportsPartitions) {
  AmdNode node(directory_, Mi300x());
  node.BeginReset(0);
  const Labels labels = Read();
  EXPECT_EQ(labels.at("amd.com/gpu.compute-partitioning-supported"), "true");
  EXPECT_EQ(labels.at("amd.com/gpu.memory-partitioning-supported"), "true");
}

TEST_F(LabelsTest, AGpuWithoutModesToChooseFromSupportsNoPartitions) {
  AmdNode node(directory_, Mi210());
  const Labels labels = Read();
  EXPECT_EQ(labels.at("amd.com/gpu.compute-partitioning-supported"), "false");
  EXPECT_EQ(labels.at("amd.com/gpu.memory-partitioning-supported"), "false");
}

TEST_F(LabelsTest, FirmwareIsCountedWhereDebugfsCanBeRead) {
  SimNode hardware = Mi300x();
  hardware.gpus.resize(2);
  const AmdNode node(directory_, hardware);
  for (const char* gpu : {"1", "9"}) {
    const std::string directory = std::string("/sys/kernel/debug/dri/") + gpu;
    ASSERT_TRUE(os::MakeDirectories(directory_ + directory));
    Write(directory + "/amdgpu_firmware_info",
          "MEC feature version: 50, firmware version: 0x00000091\n");
  }
  const Labels labels = Read();
  EXPECT_EQ(labels.at("beta.amd.com/gpu.firmware.MEC.feat.50"), "2");
  EXPECT_EQ(labels.at("beta.amd.com/gpu.firmware.MEC.fw.145"), "2");
  EXPECT_EQ(labels.count("amd.com/gpu.firmware.MEC.feat.50"), 0U);
}

TEST(FirmwareLabelsTest, TheyHaveTheBlocksOfRocmsLabellerAlone) {
  const std::string text =
      "MC feature version: 0, firmware version: 0x00a777d0\n"
      "RLC feature version: 1, firmware version: 0x00000001\n"
      "RLC SRLC feature version: 0, firmware version: 0x00000000\n"
      "TA XGMI feature version: 0x00000000, firmware version: 0x00000000\n"
      "SMC feature version: 0, program: 16, firmware version: 0x10020000 (2.0.0)\n"
      "VBIOS version: 113-xxx-xxx\n"
      "ME feature version: 99999999999, firmware version: 0xzz\n";
  EXPECT_EQ(FirmwareLabels({text, "MC feature version: 2, firmware version: 0x00a777d0", ""}),
            (Labels{{"beta.amd.com/gpu.firmware.MC.feat.0", "1"},
                    {"beta.amd.com/gpu.firmware.MC.feat.2", "1"},
                    {"beta.amd.com/gpu.firmware.MC.fw.10975184", "2"},
                    {"beta.amd.com/gpu.firmware.RLC.feat.1", "1"},
                    {"beta.amd.com/gpu.firmware.RLC.fw.1", "1"},
                    {"beta.amd.com/gpu.firmware.SMC.feat.0", "1"},
                    {"beta.amd.com/gpu.firmware.SMC.fw.268566528", "1"}}));
}

TEST_F(LabelsTest, AMissingDriverIsAnErrorOnlyWhereItIsExpected) {
  AmdNode node(directory_, Mi300x());
  node.RemoveDriver();
  EXPECT_EQ(AmdLabeller(root_, true).Read().error().reason, Reason::kDriverMissing);
  EXPECT_EQ(AmdLabeller(root_, false).Read().value(), Labels());
}

TEST(LabelValueTest, ItHasOnlyWhatLabelsMayHave) {
  EXPECT_EQ(LabelValue("AMD Radeon (TM) Pro"), "AMD_Radeon_TM_Pro");
  EXPECT_EQ(LabelValue("-.x_"), "x");
  EXPECT_EQ(LabelValue(std::string(80, 'a')), std::string(63, 'a'));
  EXPECT_EQ(LabelValue("\xff\n"), "");
}

}  // namespace
}  // namespace tessera::amd
