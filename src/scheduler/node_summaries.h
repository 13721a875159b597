// SPDX-License-Identifier: Apache-2.0
// What filter asks of each of thousands of nodes before it looks into one, side by side in memory:
// a standard container fetches three cache lines for a name, which takes six times as long
// (docs/measurements/scheduler.md). One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tessera::scheduler {

struct NodeSummary {
  // Of whichever kinds its devices are, the bits of these: several kinds may have one.
  static constexpr uint32_t BitOf(uint8_t kind) { return uint32_t{1} << (kind % 32); }

  float fullness = 0;  // how much of its devices is taken
  uint32_t kinds = 0;
  int64_t most_free = 0;  // MiB of the device that has most left
  bool operator==(const NodeSummary&) const = default;
};

// Names are told apart by their hashes, of 64 bits: two nodes of one hash have the later one's
// summary. Whoever is led to a node by it finds out there what it has.
class NodeSummaries {
 public:
  void Put(std::string_view name, const NodeSummary& summary);
  void Erase(std::string_view name);
  // Null where there is no such node; until the next change.
  const NodeSummary* Find(std::string_view name) const;
  size_t size() const { return size_; }

 private:
  struct Slot {
    size_t hash = 0;
    enum class State : uint8_t { kFree, kErased, kUsed } state = State::kFree;
    NodeSummary summary{};
  };
  // Where the name is; a free slot where it is nowhere. There is always a free one.
  size_t Locate(size_t hash) const;
  void Grow();

  std::vector<Slot> slots_;  // a power of two
  size_t size_ = 0;
  size_t taken_ = 0;  // with erased ones
};

}  // namespace tessera::scheduler
