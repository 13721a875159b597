// SPDX-License-Identifier: Apache-2.0
// What every fuzz target includes. A target is one function that is fed any bytes: it must neither
// crash nor hang, and what it requires of the parser must hold.
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

inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "ERROR: does not hold: %s\n", what);
  std::abort();
}

}  // namespace tessera::fuzz
