// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/costs.h"

#include "limiter/books/ticks.h"

namespace tessera::limiter {

namespace {

constexpr uint32_t kMemory = 16;  // runs that a mean is of
// So many runs and twice as many are looked back for the shortest: one of ten that did not wait is
// among them.
constexpr uint32_t kPeriod = 64;

uint64_t Load(const std::atomic<uint64_t>& word) {
  return word.load(std::memory_order_relaxed);
}

void Store(uint64_t value, std::atomic<uint64_t>* word) {
  word->store(value, std::memory_order_relaxed);
}

void Move(uint64_t value, uint32_t weight, std::atomic<uint64_t>* mean) {
  const auto old = static_cast<int64_t>(Load(*mean));
  const int64_t moved = old + (static_cast<int64_t>(value) - old) / static_cast<int64_t>(weight);
  Store(moved > 0 ? static_cast<uint64_t>(moved) : 1, mean);
}

}  // namespace

uint64_t Cost::LearnShortest(uint64_t ns) {
  if (ns == 0) ns = 1;
  uint32_t runs = of_period_.load(std::memory_order_relaxed);
  uint64_t shortest = Load(shortest_);
  if (runs >= kPeriod) {
    Store(shortest, &shortest_before_);
    shortest = 0;
    runs = 0;
  }
  of_period_.store(runs + 1, std::memory_order_relaxed);
  if (shortest == 0 || ns < shortest) shortest = ns;
  Store(shortest, &shortest_);
  const uint64_t before = Load(shortest_before_);
  return before != 0 && before < shortest ? before : shortest;
}

// Of what hardly waited: of runs that all take the same alone there are many close to the shortest,
// and then longer ones waited. Where there are few, the program's own runs differ.
uint64_t Cost::LearnNear(uint64_t ns, uint32_t weight) {
  constexpr uint64_t kAll = 1 << 20;
  constexpr uint32_t kSlowly = 32;
  const uint64_t shortest = LearnShortest(ns);
  const uint64_t near = shortest + shortest / 2;
  const uint64_t close = shortest + shortest / 10;
  if (Load(near_) == 0 || Load(near_) > near) Store(shortest, &near_);
  if (Load(close_) == 0 || Load(close_) > close) Store(shortest, &close_);
  if (ns <= near) {
    Move(ns, weight, &near_);
    Move(ns <= close ? kAll : 0, weight < kMemory ? weight : kSlowly, &closeness_);
  }
  if (ns <= close) Move(ns, weight, &close_);
  return Load(closeness_) > kAll / 3 ? Load(close_) : Load(near_);
}

// The mean of the first, then a moving one, which follows what the program does.
void Cost::Learn(uint64_t took, uint64_t busy, Company company) {
  const uint32_t measured = measured_.load(std::memory_order_relaxed);
  const uint32_t weight = measured < kMemory ? measured + 1 : kMemory;
  measured_.store(weight, std::memory_order_relaxed);
  Move(busy, weight, &mean_);
  const uint64_t alone = LearnNear(took, weight);
  const uint64_t mean = Load(mean_);
  const bool waits = company == Company::kNeighbours ||
                     (company == Company::kUnknown && mean > Load(near_) + Load(near_) / 64);
  waits_.store(waits, std::memory_order_relaxed);
  if (company == Company::kSiblings) return Store(Load(near_), &ns_);
  Store(waits ? alone : mean, &ns_);
}

void Cost::Clear() {
  for (auto* word : {&ns_, &mean_, &near_, &shortest_, &shortest_before_, &close_, &closeness_})
    Store(0, word);
  measured_.store(0, std::memory_order_relaxed);
  of_period_.store(0, std::memory_order_relaxed);
  waits_.store(false, std::memory_order_relaxed);
  is_collective_.store(false, std::memory_order_relaxed);
}

void Cost::ShuffleLots() {
  lot_.store(static_cast<uint32_t>(Mixed(Ticks(), reinterpret_cast<uintptr_t>(this))),
             std::memory_order_relaxed);
}

Cost* Costs::Find(uint64_t key) {
  if (key == 0) key = 1;
  const size_t home = key % kPlaces;
  for (size_t i = 0; i < kTries; ++i) {
    Cost* const cost = &costs_[(home + i) % kPlaces];
    uint64_t seen = cost->key_.load(std::memory_order_relaxed);
    if (seen == key) return cost;
    if (seen != 0) continue;
    if (cost->key_.compare_exchange_strong(seen, key)) {
      cost->ShuffleLots();
      return cost;
    }
    if (seen == key) return cost;
  }
  Cost* const cost = &costs_[home];
  cost->Clear();
  cost->ShuffleLots();
  cost->key_.store(key, std::memory_order_relaxed);
  return cost;
}

void Costs::Forget(uint64_t key) {
  Find(key)->Clear();
}

}  // namespace tessera::limiter
