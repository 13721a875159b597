// SPDX-License-Identifier: Apache-2.0
// The facts that Filter checks on each of thousands of nodes before it examines one, stored
// contiguously. A standard map costs three cache misses per name and takes six times as long
// (docs/measurements/scheduler.md). One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tessera::scheduler {

struct NodeSummary {
  // A set of device kinds, one bit each. Several kinds may share a bit.
  static constexpr uint32_t BitOf(uint8_t kind) { return uint32_t{1} << (kind % 32); }

  float fullness = 0;  // allocated part of its devices
  uint32_t kinds = 0;
  int64_t most_free = 0;  // MiB free on its emptiest device
  bool operator==(const NodeSummary&) const = default;
};

// Nodes are identified by the 64-bit hash of their name. If two hashes are equal, both nodes have
// the later summary. A wrong summary is harmless: the caller examines the node itself before it
// places a pod.
class NodeSummaries {
 public:
  void Put(std::string_view name, const NodeSummary& summary);
  void Erase(std::string_view name);
  // Null if there is no such node. Valid until the next change.
  const NodeSummary* Find(std::string_view name) const;
  size_t size() const { return size_; }

 private:
  struct Slot {
    size_t hash = 0;
    enum class State : uint8_t { kFree, kErased, kUsed } state = State::kFree;
    NodeSummary summary{};
  };
  // The slot of the hash, or a free slot. At least one slot is always free.
  size_t Locate(size_t hash) const;
  void Grow();

  std::vector<Slot> slots_;  // size is a power of two
  size_t size_ = 0;
  size_t taken_ = 0;  // including erased slots
};

}  // namespace tessera::scheduler
