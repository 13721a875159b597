// SPDX-License-Identifier: Apache-2.0
// The common part of the fuzz targets. A target is one function that takes any bytes. It must
// neither crash nor hang, and its requirements of the parser must hold. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace tessera::fuzz {

inline std::string_view Text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Aborts with `what` if the requirement does not hold.
inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "ERROR: does not hold: %s\n", what);
  std::abort();
}

}  // namespace tessera::fuzz
