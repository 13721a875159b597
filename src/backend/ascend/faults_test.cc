// SPDX-License-Identifier: Apache-2.0
#include "backend/ascend/faults.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::ascend {
namespace {

TEST(Faults, ARunsEndReplacesTheLastDigits) {
  EXPECT_TRUE(HasCode("80E1:8006,8400-0A", 0x80E1840A));
  EXPECT_FALSE(HasCode("80E1:8006,8400-0A", 0x80E1840B));
  EXPECT_FALSE(HasCode("80E1:8006,8400-0A", 0x80E28006));
  EXPECT_FALSE(HasCode("80E1:8006-99999 x:1 :", 0x80E18006)) << "it is no run";
}

TEST(Faults, AnUnknownCodeIsJudgedByItsSeverity) {
  EXPECT_EQ(ClassOf(0x12345678, 1), FaultClass::kNotHandle);
  EXPECT_EQ(ClassOf(0x12345678, 2), FaultClass::kSeparate);
  EXPECT_EQ(ClassOf(0x81078603, 3), FaultClass::kNotHandle) << "the table goes before it";
}

TEST(Faults, TheWorstOfSeveralCodesCounts) {
  const std::vector<uint32_t> codes = {0x81078603, 0x80A18008, 0x80E01801};
  EXPECT_EQ(WorstOf(codes, 3), (Fault{0x80A18008, FaultClass::kRestart}));
  EXPECT_EQ(WorstOf({}, 3), std::nullopt);
}

TEST(Faults, AClassSaysWhatBecomesOfTheDevice) {
  const auto of = [](uint32_t code) {
    return EvidenceOf({code, ClassOf(code, 3)}, EvidenceSource::kCheck);
  };
  EXPECT_EQ(of(0x81078603).kind, EvidenceKind::kGood);
  EXPECT_EQ(of(0x20000002).kind, EvidenceKind::kGood);
  EXPECT_EQ(of(0x80BB8000).kind, EvidenceKind::kBad);

  const Evidence business = of(0x80E01801);
  EXPECT_EQ(business.kind, EvidenceKind::kFatal);
  EXPECT_EQ(business.remedy, Remedy::kNone);
  EXPECT_EQ(business.detail, "fault 80E01801 (RestartBusiness)");
  EXPECT_EQ(ReasonName(business.reason), "npu-fault");

  EXPECT_EQ(of(0x80A18008).remedy, Remedy::kReset);
  EXPECT_EQ(of(0x80AD8009).remedy, Remedy::kReset);
  EXPECT_EQ(of(0x8F180220).remedy, Remedy::kNone);
  EXPECT_EQ(of(0x20001002).remedy, Remedy::kNone);
  EXPECT_EQ(of(kCardDropped).reason, Reason::kDeviceLost);
}

}  // namespace
}  // namespace tessera::ascend
