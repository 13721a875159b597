// SPDX-License-Identifier: Apache-2.0
// A pod's annotations for the choice of devices: the first line is the policy, the rest the
// weights.
#include "hami/policies.h"

#include <algorithm>
#include <cmath>

#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = tessera::fuzz::Text(data, size);
  const size_t end = std::min(text.find('\n'), text.size());
  for (const bool numa_bind : {false, true}) {
    const tessera::DevicePolicy policy =
        tessera::hami::DevicePolicyOf(text.substr(0, end), numa_bind);
    Require(!policy.keys.empty() && (policy.together == tessera::Together::kOneNuma) == numa_bind,
            "there is always an order");
  }
  const auto weights = tessera::hami::ScoreWeightsOf(text.substr(std::min(end + 1, text.size())));
  if (!weights) {
    Require(weights.error().message.size() < 1000, "a refusal says why, briefly");
    return 0;
  }
  Require(std::isfinite(tessera::ScoreOf({10, 8000, 100}, {10, 8000, 100}, *weights)),
          "a score is a number");
  return 0;
}
