// SPDX-License-Identifier: Apache-2.0
// The agent's state files. A text that parses, is written and parsed again must give the same.

#include "node/state.h"

#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

namespace {

constexpr char kBoot[] = "b";

void CheckRefusal(const tessera::Error& error) {
  Require(error.reason == tessera::Reason::kStateNewer ||
              error.reason == tessera::Reason::kStateCorrupt,
          "a refusal is one of the two");
}

std::string Written(const tessera::Facts& facts) {
  return tessera::WriteFacts(facts.devices, facts.cordons, facts.plans);
}

std::string Written(const tessera::Verdicts& verdicts) {
  std::string text = tessera::VerdictsHeader(kBoot);
  for (const auto& [key, verdict] : verdicts) text += tessera::VerdictLine(key, verdict);
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto text = tessera::fuzz::Text(data, size);
  if (const auto facts = tessera::ParseFacts(text)) {
    const auto again = tessera::ParseFacts(Written(*facts));
    Require(again.has_value(), "facts that were written parse");
    Require(Written(*again) == Written(*facts), "writing facts again gives the same");
  } else {
    CheckRefusal(facts.error());
  }
  if (const auto verdicts = tessera::ParseVerdicts(text, kBoot)) {
    const auto again = tessera::ParseVerdicts(Written(*verdicts), kBoot);
    Require(again.has_value(), "verdicts that were written parse");
    Require(Written(*again) == Written(*verdicts), "writing verdicts again gives the same");
  } else {
    CheckRefusal(verdicts.error());
  }
  return 0;
}
