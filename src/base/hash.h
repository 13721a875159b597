// SPDX-License-Identifier: Apache-2.0
// FNV-1a, 64 bits: a fixed function, unlike the library's hash, for names that outlive the process,
// on disk, in kubelet's checkpoint and at the API server. Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace tessera {

// `hash` is that of what stands before the text.
constexpr uint64_t Fnv1a(std::string_view text, uint64_t hash = 0xcbf29ce484222325) {
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace tessera
