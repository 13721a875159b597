// SPDX-License-Identifier: Apache-2.0
// The dummy devices' fault file, and the verbs that change it.

#include "backend/dummy/faults.h"

#include <array>

#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = tessera::fuzz::Text(data, size);
  auto faults = tessera::dummy::ParseFaults(text);
  if (!faults) {
    Require(!faults.error().message.empty(), "a refusal says why");
    faults.emplace();
  }
  constexpr std::array kVerbs = {"fail", "flap", "slow", "break", "reset-fails", "hide", "heal"};
  const size_t cut = text.find('\n');
  for (const char* verb : kVerbs) {
    const tessera::dummy::Faults before = *faults;
    const auto applied = tessera::dummy::ApplyVerb(
        *faults, verb, text.substr(0, cut),
        cut == std::string_view::npos ? std::string_view() : text.substr(cut + 1, 32));
    Require(applied.has_value() || *faults == before, "a refused verb changes nothing");
  }
  const std::string written = tessera::dummy::WriteFaults(*faults);
  const auto again = tessera::dummy::ParseFaults(written);
  Require(again.has_value(), "what was written parses");
  Require(tessera::dummy::WriteFaults(*again) == written, "writing again gives the same");
  return 0;
}
