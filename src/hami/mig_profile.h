// SPDX-License-Identifier: Apache-2.0
// The MIG profiles of a GPU, as in HAMi's annotations. Plain data; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::hami {

// A range of the GPU's memory slices.
struct MigPlacement {
  uint32_t start = 0;
  uint32_t size = 0;
  bool operator==(const MigPlacement&) const = default;
};

struct MigProfile {
  std::string name;         // "1g.10gb"
  int32_t memory = 0;       // MiB
  int32_t core = 0;         // percent of the GPU
  int32_t slice_count = 0;  // compute slices
  std::vector<MigPlacement> placements{};
  bool operator==(const MigProfile&) const = default;
};

}  // namespace tessera::hami
