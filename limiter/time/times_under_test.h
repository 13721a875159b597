// SPDX-License-Identifier: Apache-2.0
// Units of time, for tests.
#pragma once

#include <cstdint>

namespace tessera::limiter {

inline constexpr uint64_t kMs = 1'000'000;  // ns

}  // namespace tessera::limiter
