// SPDX-License-Identifier: Apache-2.0
#include "backend/ascend/fault_table.h"

#include <gtest/gtest.h>

namespace tessera::ascend {
namespace {

std::string ClassText(uint32_t code) {
  const auto is = TableClassOf(code);
  return is ? std::string(FaultClassName(*is)) : "none";
}

TEST(FaultTable, HasTheClassOfEachCode) {
  EXPECT_EQ(ClassText(0x4C1F8608), "NotHandle");  // the first
  EXPECT_EQ(ClassText(0xA60250C1), "NotHandle");  // the last
  EXPECT_EQ(ClassText(0x80818203), "NotHandle");  // in a run
  EXPECT_EQ(ClassText(0x81078603), "NotHandle");  // a network link is down
  EXPECT_EQ(ClassText(0x20000002), "SubHealth");  // of nine digits
  EXPECT_EQ(ClassText(0x80BB800A), "RestartRequest");
  EXPECT_EQ(ClassText(0x80E01801), "RestartBusiness");  // HBM, several bits
  EXPECT_EQ(ClassText(0x41AE4E01), "FreeRestartNPU");
  EXPECT_EQ(ClassText(0x40F84E00), "RestartNPU");  // the card was dropped
  EXPECT_EQ(ClassText(0x8F184C24), "PreSeparateNPU");
  EXPECT_EQ(ClassText(0x20001002), "SeparateNPU");
  EXPECT_EQ(ClassText(0xA8193235), "SeparateNPU");
}

TEST(FaultTable, ACodeBetweenItsCodesIsInNone) {
  EXPECT_EQ(ClassText(0x80818206), "none");
  EXPECT_EQ(ClassText(0x8081), "none");
  EXPECT_EQ(ClassText(0), "none");
}

TEST(FaultTable, HasARowForEachClass) {
  ASSERT_EQ(FaultTable().size(), 8U);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(FaultTable()[i].is, static_cast<FaultClass>(i));
}

}  // namespace
}  // namespace tessera::ascend
