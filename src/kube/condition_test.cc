// SPDX-License-Identifier: Apache-2.0
#include "kube/condition.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tessera::kube {
namespace {

constexpr Wall kNow{Duration(1'795'197'600'123)};  // 2026-11-20T18:00:00.123Z

const Condition kBad{.type = "DevicesUnhealthy",
                     .holds = true,
                     .reason = "DeviceUnhealthy",
                     .message = "1 of 2 devices unhealthy"};

// A node with kubelet's condition and, optionally, ours.
json::Value NodeWith(const std::string& ours) {
  return json::Parse(R"({"kind":"Node","status":{"conditions":[{"type":"Ready","status":"True"})" +
                     ours + "]}}")
      .value();
}
const std::string kPresent =
    R"(,{"type":"DevicesUnhealthy","status":"True","reason":"DeviceUnhealthy",)"
    R"("message":"1 of 2 devices unhealthy","lastTransitionTime":"2026-11-20T17:00:00Z"})";

std::string PatchFor(const Condition& wanted, const std::string& ours) {
  const auto patch = ConditionPatch(wanted, NodeWith(ours), kNow);
  return patch ? json::Write(*patch) : "none";
}

std::string RemovalOf(const std::set<std::string>& types, const json::Value& node) {
  const auto patch = ConditionRemoval(types, {"DeviceUnhealthy", "DevicesHealthy"}, node);
  return patch ? json::Write(*patch) : "none";
}

TEST(ConditionPatch, BringsTheConditionAndNothingElse) {
  EXPECT_EQ(PatchFor(kBad, ""),
            R"({"status":{"conditions":[{"type":"DevicesUnhealthy","status":"True",)"
            R"("reason":"DeviceUnhealthy","message":"1 of 2 devices unhealthy",)"
            R"("lastHeartbeatTime":"2026-11-20T18:00:00Z",)"
            R"("lastTransitionTime":"2026-11-20T18:00:00Z"}]}})");
}

TEST(ConditionPatch, OneThatIsThereIsNotWrittenAgain) {
  EXPECT_EQ(PatchFor(kBad, kPresent), "none");
}

TEST(ConditionPatch, AnotherMessageIsNoTransition) {
  Condition worse = kBad;
  worse.message = "2 of 2 devices unhealthy";

  EXPECT_EQ(PatchFor(worse, kPresent),
            R"({"status":{"conditions":[{"type":"DevicesUnhealthy","status":"True",)"
            R"("reason":"DeviceUnhealthy","message":"2 of 2 devices unhealthy",)"
            R"("lastHeartbeatTime":"2026-11-20T18:00:00Z"}]}})");
}

TEST(ConditionPatch, AnotherStatusIsATransition) {
  const Condition good{.type = "DevicesUnhealthy",
                       .holds = false,
                       .reason = "DevicesHealthy",
                       .message = "no device is unhealthy"};

  EXPECT_EQ(PatchFor(good, kPresent),
            R"({"status":{"conditions":[{"type":"DevicesUnhealthy","status":"False",)"
            R"("reason":"DevicesHealthy","message":"no device is unhealthy",)"
            R"("lastHeartbeatTime":"2026-11-20T18:00:00Z",)"
            R"("lastTransitionTime":"2026-11-20T18:00:00Z"}]}})");
}

TEST(ConditionPatch, ANodeOfAnyOtherShapeHasNone) {
  for (const char* text : {"null", "[]", "{}", R"({"status":[]})", R"({"status":{"conditions":7}})",
                           R"({"status":{"conditions":[7,{"type":7}]}})"}) {
    const json::Value node = json::Parse(text).value();
    EXPECT_TRUE(ConditionPatch(kBad, node, kNow).has_value()) << text;
    EXPECT_EQ(RemovalOf({"DevicesUnhealthy"}, node), "none") << text;
  }
}

TEST(ConditionRemoval, TakesAwayWhatIsThere) {
  EXPECT_EQ(RemovalOf({"DevicesUnhealthy", "GPUUnhealthy"}, NodeWith(kPresent)),
            R"({"status":{"conditions":[{"type":"DevicesUnhealthy","$patch":"delete"}]}})");
}

TEST(ConditionRemoval, LeavesWhatIsThereForAnotherReason) {
  EXPECT_EQ(RemovalOf({"DevicesUnhealthy"},
                      NodeWith(R"(,{"type":"DevicesUnhealthy","reason":"FanStopped"})")),
            "none");
}

}  // namespace
}  // namespace tessera::kube
