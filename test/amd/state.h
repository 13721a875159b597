// SPDX-License-Identifier: Apache-2.0
// What a simulated node is now, and the files that follow from it. Values; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "amd/node.h"
#include "amd/tree.h"

namespace tessera::amd {

inline constexpr char kGenerationPath[] = "/sys/class/kfd/kfd/topology/generation_id";

// One of a GPU's partitions, or the whole GPU.
struct Partition {
  size_t gpu = 0;
  int index = 0;
  bool operator==(const Partition&) const = default;
};

// What changes in a GPU besides its description.
struct GpuState {
  bool is_lost = false;
  bool is_absent = false;
  bool is_resetting = false;
  int busy = 0;
  uint64_t memory_used = 297414656;
  int celsius = 41;
  std::map<std::string, std::pair<uint64_t, uint64_t>> ras;  // uncorrected and corrected, by block
};

struct NodeState {
  SimNode node;
  std::vector<GpuState> gpus;
  bool has_driver = true;
  std::vector<Partition> kfd;  // in the order in which they came
  uint64_t generation = 78;

  // The driver made the files of this GPU.
  bool IsDriven(size_t gpu) const;
  bool InKfd(size_t gpu) const;
  bool Lacks(size_t gpu, int partition) const;
};

// All files but KFD's.
Tree DeviceFiles(const NodeState& state);
// KFD's files but generation_id.
Tree Topology(const NodeState& state);

}  // namespace tessera::amd
