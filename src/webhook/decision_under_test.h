// SPDX-License-Identifier: Apache-2.0
// Decisions on pods in tests. Header-only.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "webhook/admission_under_test.h"

namespace tessera::webhook {

// The decision on a pod. Also expects that deciding again on the patched pod changes it no further.
inline Decision DecisionOn(std::string_view pod, const Rules& rules = RulesUnderTest(),
                           const ClusterFacts& facts = {},
                           std::string_view user = R"({"username": "ann"})") {
  const auto review = ReadReview(ReviewOf(pod, user), FieldsOf(rules));
  if (!review) return {.allowed = false, .message = review.error().message};
  Decision decision = Decide(*review, rules, facts);
  if (decision.patch.empty()) return decision;
  auto patched = json::Parse(pod);
  EXPECT_TRUE(ApplyAll(decision.patch, *patched));
  const auto again = ReadReview(ReviewOf(json::Write(*patched), user), FieldsOf(rules));
  EXPECT_EQ(json::Write(Decide(*again, rules, facts).patch), "[]") << json::Write(*patched);
  return decision;
}

inline std::string PatchOn(std::string_view pod, const Rules& rules = RulesUnderTest()) {
  const Decision decision = DecisionOn(pod, rules);
  EXPECT_EQ(decision.message, "");
  return json::Write(decision.patch);
}

inline std::string PodOf(std::string_view containers, std::string_view more = "") {
  return fmt::format(R"({{"metadata": {{"name": "p"}}, "spec": {{{} "containers": [{}]}}}})", more,
                     containers);
}
// A pod of our scheduler with one container.
inline std::string PodWith(std::string_view limits, std::string_view more = "") {
  return PodOf(
      fmt::format(R"({{"name": "c", "resources": {{"limits": {{{}}}}} {}}})", limits, more),
      R"("schedulerName": "hami-scheduler",)");
}
inline std::string PodMarked(std::string_view metadata, std::string_view limits) {
  return fmt::format(R"({{"metadata": {{"name": "p", {}}}, "spec": {{
      "schedulerName": "hami-scheduler",
      "containers": [{{"name": "c", "resources": {{"limits": {{{}}}}}}}]}}}})",
                     metadata, limits);
}

inline constexpr char kShare[] = R"("nvidia.com/gpu": "1", "nvidia.com/gpumem": "3000")";
inline constexpr char kShareOf[] =
    R"({"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3k"}}})";

}  // namespace tessera::webhook
