// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/in_flight.h"

#include "limiter/accounting/ticks.h"
#include "limiter/accounting/wide.h"
#include "limiter/time/bucket.h"

namespace tessera::limiter {
namespace {

// A mark: the slot, and bits of the flight's begin that tell it from the slot's other flights.
constexpr int kSlotBits = 10;
constexpr uint64_t kSinceMask = (uint64_t{1} << (64 - kLeftBits - kSlotBits)) - 1;
static_assert(1 << kSlotBits == kMaxSlots);

// Each failed attempt means that another operation succeeded, in accounting that is intact.
constexpr int kAttempts = 1 << 16;

uint64_t MarkOf(uint32_t slot, uint64_t since) {
  return slot | (since & kSinceMask) << kSlotBits;
}

uint64_t SinceOf(const InFlight& in_flight) {
  return __atomic_load_n(&in_flight.since, __ATOMIC_ACQUIRE);
}

// Ends the flight that the bucket's mark names as charged. Its charger may have been killed between
// the charge and this step; then the next one ends it, and never charges it again.
void Complete(Region* region, int place, const TotalWord& bucket) {
  const auto slot = static_cast<uint32_t>(MarkIn(bucket) % kMaxSlots);
  uint64_t* const since = &region->accounting.in_flight[slot][place].since;
  uint64_t seen = __atomic_load_n(since, __ATOMIC_ACQUIRE);
  if (seen == 0 || MarkOf(slot, seen) != MarkIn(bucket)) return;
  __atomic_compare_exchange_n(since, &seen, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

uint32_t PercentOf(const Region& region, int place) {
  const uint64_t percent = __atomic_load_n(&region.hami.sm_limit[place], __ATOMIC_RELAXED);
  return percent == 0 || percent > 100 ? 100 : static_cast<uint32_t>(percent);
}

// The ns that it cost beyond those taken for it.
int64_t MoreOf(const InFlight& in_flight, uint64_t since, uint64_t busy_end, uint64_t now) {
  const uint64_t from = busy_end > since && busy_end <= now ? busy_end : since;
  int64_t taken = __atomic_load_n(&in_flight.taken, __ATOMIC_RELAXED);
  if (taken < 0 || taken > kMostOwed) taken = 0;  // not written by us
  const uint64_t busy = now > from ? now - from : 0;
  const int64_t more = static_cast<int64_t>(busy) - taken;
  return more < kMostAtEnd ? more : kMostAtEnd;
}

// True for the oldest flight of the device: then all time until now is charged. An older flight is
// charged from there on, when it is measured or at its end.
bool IsFirst(const Accounting& accounting, int place, uint64_t since) {
  const uint32_t used = __atomic_load_n(&accounting.slots_used, __ATOMIC_RELAXED);
  for (uint32_t slot = 0; slot < used && slot < kMaxSlots; ++slot) {
    const uint64_t other = SinceOf(accounting.in_flight[slot][place]);
    if (other != 0 && other < since) return false;
  }
  return true;
}

// Raises a word from `seen`; a later value stays.
void RaiseTo(uint64_t* word, uint64_t seen, uint64_t value) {
  while (seen < value && !__atomic_compare_exchange_n(word, &seen, value, false, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED)) {
  }
}

}  // namespace

void ChargeEnd(Region* region, uint32_t slot, int place, uint64_t now, uint64_t began) {
  TimeAccounting* const accounting = &region->accounting.times[place];
  InFlight* const in_flight = &region->accounting.in_flight[slot][place];
  for (int i = 0; i < kAttempts && SinceOf(*in_flight) != 0; ++i) {
    const TotalWord seen = Read(accounting->bucket);
    Complete(region, place, seen);
    const uint64_t since = SinceOf(*in_flight);
    if (since == 0 || since < began) break;
    if (since > now) break;  // a begin in the future is of another boot
    const uint64_t busy_end = __atomic_load_n(&accounting->busy_end, __ATOMIC_RELAXED);
    const int64_t more = MoreOf(*in_flight, since, busy_end, now);
    const uint32_t percent = PercentOf(*region, place);
    if (!CorrectOnce(accounting, seen, since, percent, more, MarkOf(slot, since))) continue;
    if (IsFirst(region->accounting, place, since)) RaiseTo(&accounting->busy_end, busy_end, now);
    Complete(region, place, Read(accounting->bucket));
  }
  __atomic_store_n(&in_flight->since, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&in_flight->taken, 0, __ATOMIC_RELAXED);
}

void OwnInFlight::BeginInFlight(InFlight* shown) {
  if (__atomic_load_n(&shown->since, __ATOMIC_SEQ_CST) != 0) return;
  uint64_t none = 0;
  __atomic_compare_exchange_n(&shown->since, &none, Now() | 1, false, __ATOMIC_SEQ_CST,
                              __ATOMIC_RELAXED);
}

void OwnInFlight::NoteUnmeasured(StreamId stream, InFlight* shown) {
  tail_count_.fetch_add(1);
  StreamId tail = tail_.load();
  if (tail == 0 && tail_.compare_exchange_strong(tail, stream)) tail = stream;
  if (tail != stream) {
    stream = kAllStreams;
    tail_.store(stream);
  }
  noted_.store(stream, std::memory_order_relaxed);
  BeginInFlight(shown);
}

// Races with NoteUnmeasured(), which raises the count before it reads the tail. Here the tail is
// cleared before the count is read again. So either the launch sees no tail, or its count is seen
// here and the tail is restored.
void OwnInFlight::EndTail(StreamId tail, uint64_t launches) {
  if (tail == 0 || launches != tail_count_.load()) return;
  if (!tail_.compare_exchange_strong(tail, 0)) return;
  if (launches != tail_count_.load()) tail_.store(kAllStreams);
}

OwnInFlight::Point OwnInFlight::NoteMeasured(InFlight* shown) {
  measured_.fetch_add(1);
  // The tail behind this launch is not known to be done when the launch is.
  noted_.store(0, std::memory_order_relaxed);
  BeginInFlight(shown);
  return CurrentPoint();
}

void OwnInFlight::Read(StreamId stream, const Point& launched, InFlight* shown, uint32_t launches) {
  measured_.fetch_sub(launches);
  SettleTaken(launched.taken, shown);
  EndTail(stream, launched.launches);
  EndIfDone(launched, shown);
}

void OwnInFlight::EndWait(StreamId stream, const Point& began, InFlight* shown) {
  EndTail(stream == kAllStreams ? tail_.load() : stream, began.launches);
  EndIfDone(began, shown);
}

// Races with launches, which raise measured_ or set tail_ before they read `since`. Here `since` is
// cleared before both are read again. So either the launch begins a new flight, or it is seen here.
// This needs sequential consistency.
void OwnInFlight::EndIfDone(const Point& until, InFlight* shown) {
  if (measured_.load() > 0 || tail_.load() != 0) return;
  if (SinceOf(*shown) == 0) return;
  __atomic_store_n(&shown->since, 0, __ATOMIC_SEQ_CST);
  if (measured_.load() > 0 || tail_.load() != 0) return BeginInFlight(shown);
  SettleTaken(until.taken, shown);
}

void OwnInFlight::SettleTaken(int64_t taken, InFlight* shown) {
  int64_t settled = settled_.load(std::memory_order_relaxed);
  while (settled < taken &&
         !settled_.compare_exchange_weak(settled, taken, std::memory_order_relaxed)) {
  }
  if (settled < taken) __atomic_fetch_sub(&shown->taken, taken - settled, __ATOMIC_RELAXED);
}

}  // namespace tessera::limiter
