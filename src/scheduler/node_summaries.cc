// SPDX-License-Identifier: Apache-2.0
#include "scheduler/node_summaries.h"

#include <functional>

namespace tessera::scheduler {
namespace {

constexpr size_t kFewest = 64;

size_t HashOf(std::string_view name) {
  return std::hash<std::string_view>()(name);
}

}  // namespace

size_t NodeSummaries::Locate(size_t hash) const {
  size_t at = hash & (slots_.size() - 1);
  while (slots_[at].state != Slot::State::kFree && slots_[at].hash != hash) {
    at = (at + 1) & (slots_.size() - 1);
  }
  return at;
}

void NodeSummaries::Put(std::string_view name, const NodeSummary& summary) {
  if (2 * (taken_ + 1) > slots_.size()) Grow();
  const size_t hash = HashOf(name);
  Slot& slot = slots_[Locate(hash)];
  if (slot.state == Slot::State::kFree) ++taken_;
  if (slot.state != Slot::State::kUsed) ++size_;
  slot = {hash, Slot::State::kUsed, summary};
}

void NodeSummaries::Erase(std::string_view name) {
  if (Find(name) == nullptr) return;
  slots_[Locate(HashOf(name))].state = Slot::State::kErased;
  --size_;
}

const NodeSummary* NodeSummaries::Find(std::string_view name) const {
  if (slots_.empty()) return nullptr;
  const Slot& slot = slots_[Locate(HashOf(name))];
  return slot.state == Slot::State::kUsed ? &slot.summary : nullptr;
}

// Drops erased slots.
void NodeSummaries::Grow() {
  size_t most = kFewest;
  while (most < 4 * (size_ + 1)) most *= 2;
  std::vector<Slot> before(most);
  before.swap(slots_);
  taken_ = size_;
  for (const Slot& slot : before) {
    if (slot.state == Slot::State::kUsed) slots_[Locate(slot.hash)] = slot;
  }
}

}  // namespace tessera::scheduler
