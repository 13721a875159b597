// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/core/xid.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace tessera::nvidia {
namespace {

TEST(Xid, TheTableIsInOrderAndSaysWhatEachMeans) {
  uint64_t last = 0;
  for (const Xid& xid : AllXids()) {
    EXPECT_GT(xid.number, last);
    EXPECT_FALSE(xid.meaning.empty()) << xid.number;
    EXPECT_FALSE(xid.meaning.ends_with('.')) << xid.number;
    last = xid.number;
  }
}

TEST(Xid, ThePageHasTheTable) {
  std::vector<std::string> expected;
  for (const Xid& xid : AllXids()) {
    expected.push_back(
        fmt::format("| {} | {} | {} |", xid.number, XidClassName(xid.xid_class), xid.meaning));
  }
  std::ifstream page("docs/reference/xids.md");
  std::vector<std::string> rows;
  bool in_table = false;
  for (std::string line; std::getline(page, line);) {
    in_table = line.starts_with("|") && (in_table || line == "| XID | class | meaning |");
    if (in_table) rows.push_back(line);
  }
  ASSERT_GE(rows.size(), 2U);
  rows.erase(rows.begin(), rows.begin() + 2);  // its head

  EXPECT_EQ(rows, expected);
}

TEST(Xid, WhatNvidiasPluginIgnoresIsTheApplicationsOwn) {
  for (uint64_t number : {13, 31, 43, 45, 68, 109}) {
    EXPECT_EQ(XidOf(number).xid_class, XidClass::kApplication) << number;
    EXPECT_FALSE(EvidenceOf(number, {})) << number;
  }
}

TEST(Xid, AResetBringsBackWhatFellOffTheBus) {
  const auto evidence = EvidenceOf(79, {});

  ASSERT_TRUE(evidence);
  EXPECT_EQ(evidence->kind, EvidenceKind::kFatal);
  EXPECT_EQ(evidence->source, EvidenceSource::kEvent);
  EXPECT_EQ(evidence->reason, Reason::kXid);
  EXPECT_EQ(evidence->detail, "XID 79: the GPU has fallen off the bus; reset the GPU");
  EXPECT_EQ(evidence->remedy, Remedy::kReset);
  EXPECT_EQ(evidence->probation, Duration(0));
}

TEST(Xid, AnUnknownOneIsOutForItsProbation) {
  const auto evidence = EvidenceOf(4'711, {});

  ASSERT_TRUE(evidence);
  EXPECT_EQ(evidence->detail,
            "XID 4711: an error that is not in our table; it returns once its checks have passed "
            "for a while");
  EXPECT_EQ(evidence->remedy, Remedy::kNone);
  EXPECT_EQ(evidence->probation, Duration(300'000));
}

TEST(Xid, ASiteSaysOtherwise) {
  XidPolicy policy;
  policy.classes = {{79, XidClass::kReboot}, {94, XidClass::kApplication}};

  EXPECT_EQ(EvidenceOf(79, policy)->remedy, Remedy::kReboot);
  EXPECT_FALSE(EvidenceOf(94, policy));
}

TEST(Xid, EachClassHasTheProbationThatASiteGivesIt) {
  XidPolicy policy;
  policy.recover_probation = Duration(600'000);
  policy.reset_probation = Duration(60'000);

  EXPECT_EQ(EvidenceOf(94, policy)->probation, Duration(600'000));
  EXPECT_EQ(EvidenceOf(79, policy)->probation, Duration(60'000));
  EXPECT_EQ(EvidenceOf(79, policy)->remedy, Remedy::kReset);
}

TEST(Xid, ThoseThatNobodyNamedHaveOneNameTogether) {
  EXPECT_EQ(XidName(79, {}), "79");
  EXPECT_EQ(XidName(4'711, {}), "other");
  EXPECT_EQ(XidName(4'711, {.classes = {{4'711, XidClass::kReset}}}), "4711");
}

TEST(Xid, NoneCountsWhereAllAreIgnoredAndNoneIsNamed) {
  EXPECT_TRUE(AnyCounts({}));
  EXPECT_FALSE(AnyCounts({.classes = {{48, XidClass::kApplication}}, .ignore_others = true}));
  EXPECT_TRUE(AnyCounts({.classes = {{48, XidClass::kReset}}, .ignore_others = true}));
}

TEST(Xid, ClassNamesReadBack) {
  for (XidClass xid_class :
       {XidClass::kApplication, XidClass::kRecover, XidClass::kReset, XidClass::kReboot}) {
    EXPECT_EQ(XidClassFromName(XidClassName(xid_class)), xid_class);
  }
  EXPECT_EQ(XidClassFromName("fatal"), std::nullopt);
}

// Whether XIDs 13, 48 and 79 count under the variables.
struct Row {
  std::string disable;
  std::string enable;
  bool counts_13;
  bool counts_48;
  bool counts_79;
};

TEST(XidVariables, EveryCombinationDoesWhatItsDocumentationSays) {
  const std::vector<Row> rows = {
      {"", "", false, true, true},           {"79", "", false, true, false},
      {" 48 , 79", "", false, false, false}, {"all", "", false, false, false},
      {"XIDS", "", false, false, false},     {"", "13", true, true, true},
      {"", "all", true, true, true},         {"", "xids", true, true, true},
      {"79", "79", false, true, true},       {"13", "13", true, true, true},
      {"all", "48", false, true, false},     {"all", "all", true, true, true},
      {"48,79", "all", true, true, true},    {"all,48", "79", false, false, true},
      {"0", "", false, true, true},          {"0,48", "", false, false, true},
      {"", "0", true, true, true},           {"all", "0", true, true, true},
      {"48", "0", true, true, true},         {"0", "48", false, true, true},
      {"0", "0", true, true, true},          {"", "0,48", true, true, true},
  };
  for (const Row& row : rows) {
    const XidVariables made = ApplyXidVariables({}, row.disable, row.enable);
    const auto counts = [&](uint64_t number) {
      return ClassOf(number, made.policy) != XidClass::kApplication;
    };
    EXPECT_EQ(counts(13), row.counts_13) << row.disable << " / " << row.enable;
    EXPECT_EQ(counts(48), row.counts_48) << row.disable << " / " << row.enable;
    EXPECT_EQ(counts(79), row.counts_79) << row.disable << " / " << row.enable;
    EXPECT_EQ(made.not_understood, std::vector<std::string>()) << row.disable;
  }
}

TEST(XidVariables, WhatIsEnabledHasItsUsualClass) {
  const XidPolicy policy = ApplyXidVariables({}, "all", "13,48").policy;

  EXPECT_EQ(ClassOf(13, policy), XidClass::kRecover);
  EXPECT_EQ(ClassOf(48, policy), XidClass::kReset);
}

TEST(XidVariables, WhatIsNotUnderstoodIsTold) {
  const XidVariables made = ApplyXidVariables({}, "48x,,79", "-1, every");

  EXPECT_EQ(made.not_understood, (std::vector<std::string>{"48x", "-1", "every"}));
  EXPECT_EQ(ClassOf(79, made.policy), XidClass::kApplication);
  EXPECT_EQ(ClassOf(48, made.policy), XidClass::kReset);
}

}  // namespace
}  // namespace tessera::nvidia
