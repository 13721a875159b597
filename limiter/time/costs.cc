// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/costs.h"

#include "limiter/accounting/ticks.h"
#include "limiter/contract.h"

namespace tessera::limiter {

namespace {

constexpr uint32_t kMemory = 16;  // runs in a mean
constexpr uint32_t kMany = 256;   // runs, some of which were alone
// The shortest run is that of the last one or two periods. If one run in ten did not wait, a period
// has one.
constexpr uint32_t kPeriod = 64;
// Shorter runs show by themselves what they take alone: a time slice has many of them, and the
// first ones hardly wait.
constexpr uint64_t kCalibrated = 1'000'000;  // ns
// How long a calibration is valid. It doubles each time the result is the same.
constexpr uint64_t kGoodFor = 5'000'000'000;  // ns
constexpr uint32_t kMostSteady = 5;

// True if the difference is at most b / part.
bool IsNear(uint64_t a, uint64_t b, uint64_t part) {
  return (a > b ? a - b : b - a) <= b / part;
}

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

uint64_t Cost::Shortest() const {
  const uint64_t shortest = Load(shortest_);
  const uint64_t before = Load(shortest_before_);
  return before != 0 && (before < shortest || shortest == 0) ? before : shortest;
}

void Cost::LearnShortest(uint64_t ns) {
  if (ns == 0) ns = 1;
  const uint32_t runs = of_period_.load(std::memory_order_relaxed);
  const bool is_over = runs >= kPeriod;
  const uint64_t shortest = Load(shortest_);
  if (is_over) Store(shortest, &shortest_before_);
  of_period_.store(is_over ? 1 : runs + 1, std::memory_order_relaxed);
  if (is_over || shortest == 0 || ns < shortest) Store(ns, &shortest_);
}

// The mean of the runs that hardly waited. If runs differ by chance, they are spread evenly: a
// fifth of the near ones are close, and a twelfth of those are the same as the shortest. A much
// larger part shows that runs take the same time alone and the longer ones waited. Perhaps few did
// not wait at all, so then only the runs of the same time count.
uint64_t Cost::LearnAlone(uint64_t ns, uint32_t runs) {
  constexpr uint64_t kAll = 1 << 20;
  const uint32_t weight = runs < kMemory ? runs : kMemory;
  const uint32_t slowly = 8 + runs / 8;
  constexpr struct {
    uint64_t longer;  // than the shortest by that part of it, at most
    uint64_t evenly;  // that part of the next farther ones, if they are spread evenly
    uint64_t many;    // that part is more than by chance
  } kOf[] = {{2, 1, 1}, {10, 5, 3}, {128, 12, 6}};
  const uint64_t known = Shortest();
  LearnShortest(ns);
  const uint64_t shortest = Shortest();
  uint64_t alone = 0;
  uint64_t farther = UINT64_MAX;
  for (int i = kNear; i < kDistances; ++i) {
    const uint64_t most = shortest + shortest / kOf[i].longer;
    if (Load(means_[i]) == 0 || Load(means_[i]) > most) Store(shortest, &means_[i]);
    if (Load(shares_[i]) == 0) Store(kAll / kOf[i].evenly, &shares_[i]);
    if (ns <= most) Move(ns, weight, &means_[i]);
    // A run that is much shorter than all before belongs to none of them.
    const bool is_like = ns <= most && ns + known / kOf[i].longer >= known;
    if (ns <= farther) Move(is_like ? kAll : 0, slowly, &shares_[i]);
    if (i == kNear || Load(shares_[i]) > kAll / kOf[i].many) alone = Load(means_[i]);
    farther = most;
  }
  return alone;
}

// A plain mean at first, then a moving one, which follows changes of the program.
void Cost::Learn(uint64_t took, uint64_t busy, Company company) {
  const uint32_t measured = measured_.load(std::memory_order_relaxed);
  const uint32_t runs = measured < kMany ? measured + 1 : kMany;
  measured_.store(runs, std::memory_order_relaxed);
  Move(busy, runs < kMemory ? runs : kMemory, &mean_);
  const uint64_t alone = LearnAlone(took, runs);
  const uint64_t mean = Load(mean_);
  const bool waits =
      company == Company::kNeighbours ||
      (company == Company::kUnknown && mean > Load(means_[kNear]) + Load(means_[kNear]) / 64);
  waits_.store(waits, std::memory_order_relaxed);
  if (company == Company::kSiblings) return Store(Load(means_[kNear]), &ns_);
  Store(waits ? CostAmongNeighbours(alone) : mean, &ns_);
}

uint64_t Cost::CostAmongNeighbours(uint64_t alone) const {
  const uint64_t calibrated = Load(calibrated_);
  return calibrated != 0 && IsLong() ? calibrated : alone;
}

bool Cost::Calibrate(uint64_t ns, uint64_t now) {
  if (!waits() || !IsLong()) return false;
  const uint64_t before = Load(calibrated_);
  const bool is_same = before != 0 && IsNear(ns, before, 8);
  const uint32_t steady = steady_.load(std::memory_order_relaxed);
  // Several runs in one moment count once.
  if (!is_same) {
    steady_.store(0, std::memory_order_relaxed);
  } else if (now - Load(calibrated_at_) >= kGoodFor && steady < kMostSteady) {
    steady_.store(steady + 1, std::memory_order_relaxed);
  }
  if (before == 0) Store(ns, &calibrated_);
  Move(ns, kMemory / 2, &calibrated_);
  Store(now, &calibrated_at_);
  Store(took(), &near_then_);
  Store(Load(calibrated_), &ns_);
  return true;
}

bool Cost::IsLong() const {
  return took() >= kCalibrated;
}

bool Cost::IsToBeCalibrated(uint64_t now) const {
  if (!waits() || !IsLong() || took() > kLongestCalibrated) return false;
  const uint64_t passed = now - Load(calibrated_at_);
  if (Load(calibrated_) == 0) return true;
  const bool is_as_then = IsNear(took(), Load(near_then_), 4);
  return passed >= kGoodFor << (is_as_then ? steady_.load(std::memory_order_relaxed) : 0);
}

void Cost::Clear() {
  for (auto* word :
       {&ns_, &mean_, &shortest_, &shortest_before_, &calibrated_, &calibrated_at_, &near_then_})
    Store(0, word);
  for (auto& word : means_) Store(0, &word);
  for (auto& word : shares_) Store(0, &word);
  steady_.store(0, std::memory_order_relaxed);
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
