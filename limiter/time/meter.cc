// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/meter.h"

#include <string.h>
#include <time.h>

#include <atomic>

#include "limiter/accounting/accounting.h"
#include "limiter/accounting/process_memory.h"
#include "limiter/accounting/ticks.h"
#include "limiter/driver/driver.h"
#include "limiter/memory/devices.h"
#include "limiter/memory/graph_places.h"
#include "limiter/time/bucket.h"
#include "limiter/time/calibration.h"
#include "limiter/time/charge.h"
#include "limiter/time/monitor.h"
#include "limiter/time/usage_samples.h"

// The function behind atexit, which is linked into programs themselves.
extern "C" int __cxa_atexit(void (*call)(void*), void* with, void* object);

namespace tessera::limiter {
namespace {

// ns. Taken for a kernel that was never measured. Its next launch waits for the result.
constexpr int64_t kUnknown = kBurst;
constexpr int64_t kLook = -1;               // of a launch that is measured only for display
constexpr int64_t kUnmeasured = 1'000'000;  // ns, if it cannot be measured
constexpr uint64_t kLong = 1'000'000;       // ns; every longer kernel is measured
// ns that a process may launch before it takes them from the shared bucket.
constexpr int64_t kTold = 100'000;  // ns

enum class State : uint32_t { kNew, kFree, kMetered };

// This process's. Any thread.
struct Meter {
  std::atomic<State> state;
  CorePolicy policy;
  Region* region;
  std::atomic<int64_t> said;         // when the last launch was (monitor.h)
  std::atomic<uint32_t> limited;     // a bit for each place; looked up once a second
  std::atomic<uint64_t> counted_at;  // ns
  std::atomic<bool> is_shared;       // there are other processes
  struct Device {
    std::atomic<int64_t> untold;
    std::atomic<uint64_t> collective_at;  // when the last one was let through
    Usage usage;
    View view;
    Calibrator calibrator;
    OwnInFlight in_flight;
    std::atomic<CUcontext> context;  // in which it was launched,
    std::atomic<bool> has_others;    // and in others too
  } devices[kMaxDevices];
  Samples samples;
  Costs costs;
};

constinit ProcessMemory<Meter> the_meter;

// Unlimited launches of this thread since its last usage sample.
constinit thread_local uint32_t free_launches = 0;

[[gnu::noinline]] void FindLimited(Meter* meter) {
  uint32_t limited = 0;
  for (int place = 0; place < kMaxDevices; ++place) {
    if (Percent(place) != 0) limited |= 1u << place;
  }
  meter->limited.store(limited, std::memory_order_relaxed);
}

void LookAtEnd(void* with);

[[gnu::noinline]] bool Start(Meter* meter) {
  Join();
  Region* const region = TheRegion();
  meter->region = region;
  meter->policy = Policy();
  FindLimited(meter);
  const State state = region == nullptr ? State::kFree : State::kMetered;
  // Handlers run in reverse order. The driver registered its own earlier, so this one runs while
  // the driver still works.
  if (region != nullptr) __cxa_atexit(LookAtEnd, nullptr, nullptr);
  meter->state.store(state, std::memory_order_release);
  return region != nullptr;
}

// Null: no limits.
inline Meter* OwnMeter() {
  Meter* const meter = the_meter.Get();
  if (meter == nullptr) return nullptr;
  const State state = meter->state.load(std::memory_order_acquire);
  if (state == State::kMetered) [[likely]]
    return meter;
  return state == State::kNew && Start(meter) ? meter : nullptr;
}

// Null: no launch was ever metered; makes nothing.
Meter* MeterInUse() {
  Meter* const meter = the_meter.IfAny();
  const bool is_used =
      meter != nullptr && meter->state.load(std::memory_order_acquire) == State::kMetered;
  return is_used ? meter : nullptr;
}

TimeAccounting* AccountingOf(const Meter& meter, int place) {
  return &meter.region->accounting.times[place];
}

CalibrationAccounting* CalibrationOf(const Meter& meter, int place) {
  return &meter.region->accounting.calibrations[place];
}

void CountProcesses(Meter* meter, uint64_t now) {
  constexpr uint64_t kEvery = 100'000'000;  // ns
  const uint64_t counted_at = meter->counted_at.load(std::memory_order_relaxed);
  if (counted_at != 0 && now - counted_at < kEvery) return;
  meter->counted_at.store(now, std::memory_order_relaxed);
  const Accounting& accounting = meter->region->accounting;
  uint32_t slots = __atomic_load_n(&accounting.slots_used, __ATOMIC_RELAXED);
  if (slots > kMaxSlots) slots = kMaxSlots;
  int processes = 0;
  for (uint32_t i = 0; i < slots && processes < 2; ++i) {
    if (__atomic_load_n(&accounting.slots[i].owner, __ATOMIC_RELAXED) != 0) ++processes;
  }
  meter->is_shared.store(processes > 1, std::memory_order_relaxed);
}

void Use(Meter* meter, int place, int64_t ns, uint64_t now) {
  meter->devices[place].view.processes.NoteOwn(ns);
  const int slot = OwnSlot();
  if (slot < 0) return;
  meter->devices[place].usage.Add(ns, now, &meter->region->hami.slots[slot].utilization[place]);
}

// Counts the wait of a launch for the monitor's counters.
void CountWait(Meter* meter, uint64_t began, uint64_t ended) {
  const int slot = OwnSlot();
  if (slot < 0) return;
  __atomic_fetch_add(&meter->region->accounting.slots[slot].waited, ended - began,
                     __ATOMIC_RELAXED);
}

// This process's flight in the region.
InFlight* InFlightOf(const Meter& meter, int place) {
  const int slot = OwnSlot();
  return &meter.region->accounting.in_flight[slot < 0 ? 0 : slot][place];
}

void NoteContext(Meter::Device* device) {
  CUcontext context = nullptr, seen = nullptr;
  TheDriver().cuCtxGetCurrent(&context);
  if (!device->context.compare_exchange_strong(seen, context) && seen != context) {
    device->has_others.store(true);
  }
}

[[gnu::noinline]] void NoteUnmeasured(Meter* meter, int place, const Stream& stream) {
  NoteContext(&meter->devices[place]);
  meter->devices[place].in_flight.NoteUnmeasured(stream.id(), InFlightOf(*meter, place));
}

// 1 to 100: the limit may have been lifted since the launch that is corrected.
uint32_t PercentToFill(int place) {
  const uint32_t percent = Percent(place);
  return percent == 0 ? 100 : percent;
}

void CorrectNow(Meter* meter, int place, int64_t more) {
  const uint64_t now = Now();
  Correct(AccountingOf(*meter, place), now, PercentToFill(place), more);
  meter->devices[place].in_flight.AddTaken(more, InFlightOf(*meter, place));
  Use(meter, place, more, now);
}

void Charge(Meter* meter, const Measurement& measured) {
  const int place = measured.place;
  TimeAccounting* const accounting = AccountingOf(*meter, place);
  const uint64_t now = Now();
  const bool is_shared = meter->is_shared.load(std::memory_order_relaxed);
  const int64_t charged = ChargeOf(measured, is_shared, &meter->devices[place].view,
                                   {accounting, CalibrationOf(*meter, place)}, now);
  const int64_t more = charged - measured.taken;
  const uint32_t percent = PercentToFill(place);
  Correct(accounting, now, percent, more, measured.taken,
          SavedWhileHeld(*CalibrationOf(*meter, place), now, percent));
  meter->devices[place].in_flight.Read(measured.stream, measured.launched,
                                       InFlightOf(*meter, place), measured.measures);
  Use(meter, place, more, now);
}

void Collect(Meter* meter) {
  meter->samples.Collect([meter](const Measurement& measured) { Charge(meter, measured); });
}

// At the program's end, finished launches are charged as measured, while the driver still answers.
void LookAtEnd(void* /*unused*/) {
  Meter* const meter = MeterInUse();
  if (meter == nullptr) return;
  const Driver& driver = TheDriver();
  for (Meter::Device& device : meter->devices) {
    CUcontext context = device.context.load();
    if (context == nullptr || driver.cuCtxPushCurrent_v2(context) != CUDA_SUCCESS) continue;
    Collect(meter);
    driver.cuCtxPopCurrent_v2(&context);
  }
}

// Kernels of NCCL and NVSHMEM, by name; the driver reports names since CUDA 12.3.
bool IsCollective(CUfunction function) {
  const char* name = nullptr;
  if (function == nullptr || TheDriver().cuFuncGetName(&name, function) != CUDA_SUCCESS) {
    return false;
  }
  return name != nullptr && (strstr(name, "nccl") != nullptr || strstr(name, "nvshmem") != nullptr);
}

// True if a collective that has waited for `waited` ns may run in spite of its debt.
bool MayPass(uint64_t waited, uint64_t owed, uint64_t since_last) {
  constexpr uint64_t kLongestStall = 20'000'000;  // ns
  constexpr uint64_t kTogether = 10'000'000;  // ns; so close to each other they are of one burst
  // Otherwise any kernel with such a name could run up a debt.
  constexpr uint64_t kMostOwed = 1'000'000'000;  // ns
  return owed <= kMostOwed && (waited >= kLongestStall || since_last < kTogether);
}

// Waits until nothing is owed, then takes the launch's cost and this process's untold costs.
// Returns what was taken for the launch. It sleeps in slices: a new measurement or a new limit may
// end the wait.
int64_t Await(Meter* meter, int place, const Cost& cost, bool* has_waited) {
  constexpr uint64_t kLongestSlice = 5'000'000;  // ns
  Meter::Device& device = meter->devices[place];
  TimeAccounting* const accounting = AccountingOf(*meter, place);
  CalibrationAccounting* const calibration = CalibrationOf(*meter, place);
  const int64_t untold = device.untold.exchange(0, std::memory_order_relaxed);
  LookForTheDead();
  const uint64_t began = Now();
  for (uint64_t slice = 50'000;; slice = slice < kLongestSlice ? 2 * slice : slice) {
    Collect(meter);
    const auto known = static_cast<int64_t>(cost.ns());
    const int64_t taken = known != 0 ? known : kUnknown;
    const uint64_t now = Now();
    const uint32_t percent = Percent(place);
    if (percent == 0 || !Holds(meter->policy, meter->region->hami)) return 0;
    const bool is_to_be_calibrated = cost.IsToBeCalibrated(now);
    if (is_to_be_calibrated) WantCalibration(cost, now, calibration);
    const bool is_calibrated =
        device.calibrator.MayPass(cost, is_to_be_calibrated, now, calibration);
    // A collective's kernel would hold up other devices as well.
    const uint64_t held = is_calibrated || cost.is_collective() ? 0 : HeldFor(*calibration, now);
    if (held != 0) {
      *has_waited = true;
      SleepFor(held < slice ? held : slice);
      continue;
    }
    const uint64_t wait =
        Take(accounting, now, percent, taken + untold, SavedWhileHeld(*calibration, now, percent));
    const uint64_t last = device.collective_at.load(std::memory_order_relaxed);
    const bool passes =
        wait != 0 && (is_calibrated || (cost.is_collective() &&
                                        MayPass(now - began, wait * percent / 100, now - last)));
    if (passes) Correct(accounting, now, percent, taken + untold);
    if (wait == 0 || passes) {
      if (cost.is_collective()) device.collective_at.store(now, std::memory_order_relaxed);
      device.in_flight.AddTaken(taken + untold, InFlightOf(*meter, place));
      CountProcesses(meter, now);
      Use(meter, place, taken + untold, now);
      if (*has_waited) CountWait(meter, began, now);
      return taken;
    }
    *has_waited = true;
    SleepFor(wait < slice ? wait : slice);
  }
}

void AwaitHold() {
  constexpr uint64_t kSlice = 5'000'000;  // ns
  Meter* const meter = the_meter.Get();
  const int place = CurrentPlace();
  if (place < 0 || place >= kMaxDevices) return;
  const CalibrationAccounting* const accounting = CalibrationOf(*meter, place);
  for (uint64_t held; (held = HeldFor(*accounting, Now())) != 0;)
    SleepFor(held < kSlice ? held : kSlice);
}

// The weight of a sampled kernel of `ns`. Launches that had to take from the bucket are late like
// this one, so the sample stands for fewer waits.
Weight WeightOf(uint64_t ns, bool has_waited) {
  constexpr uint32_t kOneOf = 16;  // Cost::IsTurn()
  if (!has_waited || ns >= kTold) return {kOneOf, kOneOf};
  return {kOneOf, 1 + static_cast<uint32_t>((kOneOf - 1) * ns / static_cast<uint64_t>(kTold))};
}

// The places whose time is limited, a bit for each. Also tells HAMi's monitor of the launch.
inline uint32_t LimitedNow(Meter* meter, SinceLast* when) {
  HamiRegion* const hami = &meter->region->hami;
  *when = MarkKernelTime(hami, &meter->said);
  if (*when == SinceLast::kAnotherSecond) [[unlikely]]
    FindLimited(meter);
  if (!MarkRecentKernel(meter->region) && meter->policy != CorePolicy::kDisable) [[unlikely]] {
    const uint64_t began = Now();
    AwaitMonitor(meter->region);
    CountWait(meter, began, Now());
  }
  if (*when == SinceLast::kAnotherSecond) [[unlikely]]
    LookForMonitor(meter->region);
  const uint32_t limited = meter->limited.load(std::memory_order_relaxed);
  return limited != 0 && Holds(meter->policy, *hami) ? limited : 0;
}

}  // namespace

// Always false: not limited.
inline bool Launch::Pass(SinceLast when) {
  ++free_launches;
  if (when != SinceLast::kSame) [[unlikely]]
    Look();
  return false;
}

// Once in a while, an unlimited launch is held during a neighbour's calibration, and measured for
// display (usage_samples.h).
[[gnu::noinline]] void Launch::Look() {
  AwaitHold();
  sample_ = BeginUsageSample(stream_, free_launches);
  free_launches = 0;
  if (sample_ >= 0) taken_ = kLook;
}

bool Launch::IsLimited() {
  Meter* const meter = OwnMeter();
  if (meter == nullptr) [[unlikely]]
    return false;
  SinceLast when;
  const uint32_t limited = LimitedNow(meter, &when);
  if (limited == 0) [[likely]]
    return Pass(when);
  const int place = CurrentPlace();
  if (place < 0 || (limited >> place & 1) == 0) return Pass(when);
  if (IsCaptured(stream_)) return false;
  place_ = place;
  return true;
}

bool Launch::IsLimitedAt(int place) {
  Meter* const meter = OwnMeter();
  if (meter == nullptr) return false;
  if (place == CurrentPlace()) return IsLimited();
  SinceLast when;
  if ((LimitedNow(meter, &when) >> place & 1) == 0 || IsCaptured(stream_)) return false;
  place_ = place;
  is_elsewhere_ = true;
  return true;
}

Launch::Measuring Launch::Admit(const LaunchedWork& what) {
  Meter* const meter = the_meter.Get();
  Cost* const cost = meter->costs.Find(what.key);
  const uint64_t ns = cost->ns();
  const bool is_shared = meter->is_shared.load(std::memory_order_relaxed);
  // Decided here, whatever is learned during the wait. A launch on another device is always
  // measured, since no wait for a stream shows its end.
  const bool is_turn = ns != 0 && ns < (is_shared ? kLongIfShared : kLong) && !is_elsewhere_;
  const bool is_measured = !is_turn || cost->IsTurn();
  if (!is_measured) [[likely]] {
    const auto more = static_cast<int64_t>(ns);
    std::atomic<int64_t>& untold = meter->devices[place_].untold;
    if (untold.fetch_add(more, std::memory_order_relaxed) + more < kTold) [[likely]] {
      if (!meter->devices[place_].in_flight.IsNoted(stream_.id())) [[unlikely]]
        NoteUnmeasured(meter, place_, stream_);
      return {};
    }
    untold.fetch_sub(more, std::memory_order_relaxed);
  }
  if (ns == 0 && IsCollective(what.function)) cost->SayCollective();
  bool has_waited = false;
  taken_ = Await(meter, place_, *cost, &has_waited);
  if (taken_ == 0) return {};
  if (!is_measured) return {cost, {}};
  return {cost, is_turn ? WeightOf(ns, has_waited) : Weight{1, 1}};
}

[[gnu::noinline]] void Launch::Note(const Measuring& measuring) {
  if (measuring.weight.runs != 0 && Measure(measuring.cost, measuring.weight)) return;
  Meter* const meter = the_meter.Get();
  if (!meter->devices[place_].in_flight.IsNoted(stream_.id())) {
    NoteUnmeasured(meter, place_, stream_);
  }
}

[[gnu::noinline]] bool Launch::Measure(Cost* cost, const Weight& weight) {
  Meter* const meter = the_meter.Get();
  sample_ = meter->samples.Begin(stream_, cost, place_, weight);
  if (sample_ >= 0) {
    const int at = is_elsewhere_ ? CurrentPlace() : place_;
    NoteContext(&meter->devices[at >= 0 && at < kMaxDevices ? at : place_]);
    launched_ = meter->devices[place_].in_flight.NoteMeasured(InFlightOf(*meter, place_));
    // It is in none of that device's streams.
    if (is_elsewhere_) launched_.launches = OwnInFlight::kBehindNone;
    return true;
  }
  // A lower charge only if the launch cannot be measured at all, not if too many are in flight.
  if (sample_ == Samples::kNone && taken_ == kUnknown && cost->ns() == 0) {
    CorrectNow(meter, place_, kUnmeasured - kUnknown);
    taken_ = kUnmeasured;
  }
  return false;
}

[[gnu::noinline]] void Launch::Finish(bool is_launched) {
  Meter* const meter = the_meter.Get();
  const StreamContext context(stream_);
  if (taken_ == kLook) return EndUsageSample(sample_, stream_, is_launched);
  const bool is_measured = sample_ >= 0;
  OwnInFlight* const in_flight = &meter->devices[place_].in_flight;
  if (is_launched) {
    if (!is_measured || meter->samples.End(sample_, stream_, taken_, launched_)) return;
    NoteUnmeasured(meter, place_, stream_);
  } else {
    if (is_measured) meter->samples.Cancel(sample_);
    CorrectNow(meter, place_, -taken_);
  }
  if (is_measured) in_flight->Read(0, {}, InFlightOf(*meter, place_));
}

Wait::Wait(const Stream& stream) : stream_(stream.id()) {
  if (MeterInUse() == nullptr) return;
  const StreamContext context(stream);
  Begin();
}

Wait::Wait(StreamId stream) : stream_(stream) {
  if (MeterInUse() != nullptr) Begin();
}

void Wait::Begin() {
  Meter* const meter = the_meter.Get();
  const int place = CurrentPlace();
  if (place < 0 || place >= kMaxDevices) return;
  // The graph that is waited for may have run only on another device.
  if (__atomic_load_n(&InFlightOf(*meter, place)->since, __ATOMIC_RELAXED) == 0 &&
      !has_several_devices.load(std::memory_order_relaxed)) {
    return;
  }
  place_ = place;
  began_ = meter->devices[place].in_flight.BeginWait();
}

[[gnu::noinline]] void Wait::Finish() {
  Meter* const meter = the_meter.Get();
  Meter::Device* const device = &meter->devices[place_];
  Collect(meter);
  // A wait for the current context covers all of this process's work only if it uses no other
  // context.
  const bool is_known = stream_ != kAllStreams || !device->has_others.load();
  device->in_flight.EndWait(is_known ? stream_ : 0, began_, InFlightOf(*meter, place_));
}

void ForgetCost(uint64_t key) {
  Meter* const meter = OwnMeter();
  if (meter != nullptr) meter->costs.Forget(key);
}

void AwaitMeasures(CUcontext context) {
  constexpr uint64_t kLongest = 5'000'000'000, kMoment = 200'000;  // ns
  Meter* const meter = MeterInUse();
  if (meter == nullptr) return;
  for (const uint64_t began = Now(); Now() - began < kLongest; SleepFor(kMoment)) {
    Collect(meter);
    if (!meter->samples.IsMeasuring(context)) return;
  }
}

ContextEnd::ContextEnd(CUcontext context) : context_(context) {
  Meter* const meter = context == nullptr ? nullptr : OwnMeter();
  holds_ = meter != nullptr &&
           meter->samples.Hold([meter](const Measurement& measured) { Charge(meter, measured); });
  holds_usage_samples_ = context != nullptr && HoldUsageSamples();
}
ContextEnd::~ContextEnd() {
  if (holds_) the_meter.Get()->samples.LetGo();
  if (holds_usage_samples_) LetGoUsageSamples();
}
void ContextEnd::Ended() {
  if (holds_usage_samples_) UsageSamplesEnded(context_);
  if (!holds_) return;
  Meter* const meter = the_meter.Get();
  meter->samples.Drop(context_, [meter](const Measurement& measured) { Charge(meter, measured); });
  for (int place = 0; place < kMaxDevices; ++place) {
    Meter::Device* const device = &meter->devices[place];
    if (device->context.load() != context_ || device->has_others.load()) continue;
    device->in_flight.EndWait(kAllStreams, device->in_flight.BeginWait(),
                              InFlightOf(*meter, place));
    device->context.store(nullptr);
  }
}

}  // namespace tessera::limiter
