// SPDX-License-Identifier: Apache-2.0
// 64-bit FNV-1a. The function is fixed, unlike std::hash, so its values may outlive the process: on
// disk, in kubelet's checkpoint, at the API server. Pure. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace tessera {

// `hash` is the hash of the preceding text.
constexpr uint64_t Fnv1a(std::string_view text, uint64_t hash = 0xcbf29ce484222325) {
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace tessera
