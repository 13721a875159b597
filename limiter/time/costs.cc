// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/costs.h"

namespace tessera::limiter {

// The mean of the first, then a moving one, which follows what the program does.
void Cost::Learn(uint64_t ns) {
  constexpr uint32_t kMemory = 16;
  const uint32_t measured = measured_.load(std::memory_order_relaxed);
  const uint32_t weight = measured < kMemory ? measured + 1 : kMemory;
  const auto old = static_cast<int64_t>(ns_.load(std::memory_order_relaxed));
  const int64_t mean = old + (static_cast<int64_t>(ns) - old) / static_cast<int64_t>(weight);
  ns_.store(mean > 0 ? static_cast<uint64_t>(mean) : 1, std::memory_order_relaxed);
  measured_.store(weight, std::memory_order_relaxed);
}

void Cost::LearnAmongOthers(uint64_t ns) {
  // The shortest rises slowly, for the program may do more now.
  constexpr uint64_t kSlowly = 64;
  uint64_t shortest = shortest_.load(std::memory_order_relaxed);
  shortest = shortest == 0 || ns < shortest ? ns : shortest + (ns - shortest) / kSlowly;
  shortest_.store(shortest, std::memory_order_relaxed);
  if (ns <= shortest + shortest / 2 || this->ns() == 0) Learn(ns);
}

void Cost::Clear() {
  ns_.store(0, std::memory_order_relaxed);
  shortest_.store(0, std::memory_order_relaxed);
  measured_.store(0, std::memory_order_relaxed);
}

Cost* Costs::Find(uint64_t key) {
  if (key == 0) key = 1;
  const size_t home = key % kPlaces;
  for (size_t i = 0; i < kTries; ++i) {
    Cost* const cost = &costs_[(home + i) % kPlaces];
    uint64_t seen = cost->key_.load(std::memory_order_relaxed);
    if (seen == key) return cost;
    if (seen == 0 && (cost->key_.compare_exchange_strong(seen, key) || seen == key)) return cost;
  }
  Cost* const cost = &costs_[home];
  cost->Clear();
  cost->key_.store(key, std::memory_order_relaxed);
  return cost;
}

void Costs::Forget(uint64_t key) {
  Find(key)->Clear();
}

}  // namespace tessera::limiter
