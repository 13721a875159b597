// SPDX-License-Identifier: Apache-2.0
// The agent's state file: any text is refused, or read to what writing and reading gives again.

#include "agent/state.h"

#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto state = tessera::agent::ParseState(tessera::fuzz::Text(data, size));
  if (!state) {
    const tessera::Reason reason = state.error().reason;
    Require(reason == tessera::Reason::kStateNewer || reason == tessera::Reason::kStateCorrupt,
            "a refusal is one of the two");
    return 0;
  }
  const std::string written = tessera::agent::WriteState(*state);
  const auto again = tessera::agent::ParseState(written);
  Require(again.has_value(), "what was written parses");
  Require(tessera::agent::WriteState(*again) == written, "writing again gives the same");
  return 0;
}
