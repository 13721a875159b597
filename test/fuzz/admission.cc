// SPDX-License-Identifier: Apache-2.0
// An admission review from the API server, whose pod a user wrote. The webhook must answer this
// review. A patch must fit its pod, and the patched pod must need no second patch.
#include "test/fuzz/fuzz.h"
#include "webhook/admission_under_test.h"

using tessera::fuzz::Require;

namespace tessera::webhook {
namespace {

Rules AllRules() {
  Rules rules = RulesUnderTest();
  rules.devices[0].requests.default_memory = 4000;
  rules.devices[0].requests.default_cores = 10;
  rules.devices[0].runtime_class = "nvidia";
  rules.node_label = "gpu";
  rules.devices[0].core_policy = "force";
  rules.devices[0].hides_devices = true;
  rules.guard.on = true;
  return rules;
}

Result<Decision> DecisionOn(std::string_view body, const Rules& rules) {
  const Review review = TRY(ReadReview(body, FieldsOf(rules)));
  Require(!review.uid.empty(), "whoever is answered has asked");
  return Decide(review, rules, {.most = {{.memory = 80'000, .on_node = 8}}});
}

// The pod of a parsed review.
json::Value& PodIn(json::Value& review) {
  return review.as_object()["request"].as_object()["object"];
}

void CheckTwice(std::string_view text) {
  const Rules rules = AllRules();
  const auto first = DecisionOn(text, rules);
  if (!first) return Require(!first.error().message.empty(), "a refusal says why");
  Require(first->allowed == first->message.empty(), "a refusal says why");
  Require(first->allowed || first->patch.empty(), "what is refused is not changed");
  // An API server writes each name once, so duplicate keys are removed before the patch is applied.
  auto review = json::Parse(text);
  if (!review) return;
  const auto plain = DecisionOn(json::Write(*review), rules);
  if (!plain || plain->patch.empty()) return;
  Require(ApplyAll(plain->patch, PodIn(*review)), "a patch fits its pod");
  const auto second = DecisionOn(json::Write(*review), rules);
  Require(second && second->allowed, "a pod that was patched is admitted");
  Require(second->patch.empty(), "and is not patched again");
}

}  // namespace
}  // namespace tessera::webhook

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tessera::webhook::CheckTwice(tessera::fuzz::Text(data, size));
  return 0;
}
