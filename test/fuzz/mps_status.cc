// SPDX-License-Identifier: Apache-2.0
// The status file that `tessera mps` writes for the agent. A text that parses, is written and
// parsed again must give the same.
#include "backend/nvidia/mps/status.h"
#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto status = tessera::nvidia::ParseMpsStatus(tessera::fuzz::Text(data, size));
  if (!status) {
    Require(status.error().reason == tessera::Reason::kStateCorrupt, "a refusal is of the text");
    return 0;
  }
  const auto again = tessera::nvidia::ParseMpsStatus(tessera::nvidia::MpsStatusText(*status));
  Require(again.has_value(), "what was written parses");
  Require(*again == *status, "it is the same");
  return 0;
}
