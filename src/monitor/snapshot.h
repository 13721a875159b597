// SPDX-License-Identifier: Apache-2.0
// What the monitor knows at one moment: devices with their last samples, and containers with their
// last readings. Plain data; any thread.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/sampler.h"
#include "base/clock.h"
#include "monitor/containers.h"

namespace tessera::monitor {

struct DeviceState {
  SampledDevice device{};
  std::optional<DeviceSample> sample{};  // the last one; nothing: it never answered
  Steady sampled_at{};
};

// Of a partition of the device by the last sample; null: it did not say.
inline const PartitionMemory* MemoryOf(const DeviceState& state, std::string_view partition) {
  if (!state.sample) return nullptr;
  const auto& all = state.sample->partitions;
  const auto found = std::ranges::find(all, partition, &PartitionMemory::uuid);
  return found == all.end() ? nullptr : &*found;
}

struct Snapshot {
  std::string node{};
  std::vector<DeviceState> devices{};       // in the order of their index
  std::span<const Container> containers{};  // the maker of the snapshot keeps them
  std::optional<Steady> granted_at{};       // when the agent last answered
  std::optional<Steady> read_at{};          // when all regions were last read
  // How often containers' regions became unreadable, by reason.
  std::map<std::string, uint64_t> became_unreadable{};
};

}  // namespace tessera::monitor
