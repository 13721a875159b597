// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/samples.h"

#include <time.h>

#include "limiter/accounting/ticks.h"
#include "limiter/driver/driver.h"
#include "limiter/driver/relaxed.h"

namespace tessera::limiter {
namespace {

bool Record(CUevent event, const Stream& stream) {
  const Driver& driver = TheDriver();
  return (stream.per_thread ? driver.cuEventRecord_ptsz(event, stream.handle)
                            : driver.cuEventRecord(event, stream.handle)) == CUDA_SUCCESS;
}

void Destroy(CUevent event) {
  if (event != nullptr) TheDriver().cuEventDestroy_v2(event);
}

}  // namespace

// Takes a free sample, preferably one whose events are of the context.
int Samples::Own(CUcontext context) {
  for (const bool any : {false, true}) {
    for (int i = 0; i < kSamples; ++i) {
      Sample& sample = samples_[i];
      State seen = sample.state.load(std::memory_order_relaxed);
      const CUcontext has = sample.context.load(std::memory_order_relaxed);
      if (seen != kFree || (!any && has != nullptr && has != context)) continue;
      if (sample.state.compare_exchange_strong(seen, kOwned, std::memory_order_acquire)) return i;
    }
  }
  return kNone;
}

bool Samples::Prepare(Sample* sample, CUcontext context) {
  if (sample->context == context) return true;
  const Driver& driver = TheDriver();
  Destroy(sample->before);
  Destroy(sample->behind);
  sample->before = sample->behind = nullptr;
  sample->context = nullptr;
  if (driver.cuEventCreate(&sample->before, 0) != CUDA_SUCCESS ||
      driver.cuEventCreate(&sample->behind, 0) != CUDA_SUCCESS) {
    return false;
  }
  sample->context = context;
  return true;
}

int Samples::Begin(const Stream& stream, Cost* cost, int place, const Weight& weight) {
  CUcontext context = nullptr;
  if (TheDriver().cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return kNone;
  const Relaxed relaxed;
  if (TryBegin()) {
    clock_.Renew(context);
    Finish();
  }
  int at = Own(context);
  if (at == kNone && MakeRoom()) at = Own(context);
  if (at == kNone) return kNoRoom;
  Sample& sample = samples_[at];
  sample.cost = cost;
  sample.place = place;
  sample.weight = weight;
  if (!Prepare(&sample, context) || !Record(sample.before, stream)) {
    Cancel(at);
    return kNone;
  }
  sample.launched_at = Now();
  return at;
}

bool Samples::End(int at, const Stream& stream, int64_t taken, const OwnInFlight::Point& launched) {
  Sample& sample = samples_[at];
  const Relaxed relaxed;
  sample.taken = taken;
  sample.launched = launched;
  sample.stream = stream.id();
  sample.held_up = Now() - sample.launched_at;
  sample.measures = 1;
  if (!Record(sample.behind, stream)) {
    Cancel(at);
    return false;
  }
  queue_.Stand(at);
  return true;
}

void Samples::Cancel(int at) {
  samples_[at].state.store(kFree, std::memory_order_release);
}

// The sample of the same stream and place that was noted; kNone: none.
int Samples::FirstOf(const Sample& sample) const {
  for (int i = 0; i < streams_; ++i) {
    const Sample& first = samples_[firsts_[i]];
    const bool is_same = first.stream == sample.stream && first.context == sample.context;
    if (is_same && first.place == sample.place) return firsts_[i];
  }
  return kNone;
}
void Samples::NoteFirst(int at) {
  firsts_[streams_++] = static_cast<uint16_t>(at);
}

// Merges two consecutive samples of one stream, so that launches behind a stream that waits for
// long take no room from others. False: there are none, or another thread has the turn.
bool Samples::MakeRoom() {
  if (!TryBegin()) return false;
  streams_ = 0;
  Sample* freed = nullptr;
  queue_.Visit([&](int at) {
    if (freed != nullptr) return true;
    Sample& second = samples_[at];
    const int first = FirstOf(second);
    if (first == kNone) {
      NoteFirst(at);
      return true;
    }
    Join(&samples_[first], &second);
    freed = &second;
    return false;
  });
  Finish();
  if (freed != nullptr) freed->state.store(kFree, std::memory_order_release);
  return freed != nullptr;
}

void Samples::Join(Sample* first, Sample* second) {
  const CUevent behind = first->behind;
  first->behind = second->behind;
  second->behind = behind;
  // The launches for which it stands lie between the two, and cost the same.
  first->taken += second->taken * second->weight.runs;
  first->measures += second->measures;
  first->launched = second->launched;
  first->weight = {1, 1};
  first->cost = &joined_;
}

// The launch began after the event before it, and not before the call.
void Samples::Read(const Sample& sample, Measurement* measured) {
  int64_t took = 0;
  uint64_t end = Now(), error = 0;
  const bool is_told = Elapsed(sample.before, sample.behind, &took);
  if (!is_told) took = static_cast<int64_t>(end - sample.launched_at);
  const bool is_known = is_told && clock_.TimeOf(sample.context, sample.behind, &end, &error);
  uint64_t start = end - static_cast<uint64_t>(took);
  const uint64_t launched_at = is_known ? sample.launched_at - error : 0;
  if (start < launched_at) start = launched_at;
  *measured = {sample.cost, sample.place,   sample.weight, sample.taken,    start,
               end,         sample.held_up, sample.stream, sample.launched, sample.measures};
}

// In the order of launches, so that busy time is found from its begin. If a launch is not done,
// none behind it in its stream is.
void Samples::CollectAll(Taker take, void* with) {
  const Relaxed relaxed;
  streams_ = 0;
  queue_.Visit([&](int at) {
    Sample& sample = samples_[at];
    if (FirstOf(sample) != kNone) return true;
    const CUresult result = TheDriver().cuEventQuery(sample.behind);
    if (result == CUDA_ERROR_NOT_READY) {
      NoteFirst(at);
      return true;
    }
    Measurement measured;
    Read(sample, &measured);
    // A failed launch says nothing about others.
    if (result != CUDA_SUCCESS) measured.weight = {1, 1};
    sample.state.store(kFree, std::memory_order_release);
    take(with, measured);
    return false;
  });
}

bool Samples::IsMeasuring(CUcontext context) {
  if (queue_.is_empty()) return false;
  if (!TryBegin()) return true;
  bool is_measuring = false;
  queue_.Visit([&](int at) {
    is_measuring = is_measuring || samples_[at].context == context;
    return true;
  });
  Finish();
  return is_measuring;
}

// The thread that has the turn may have ended in the middle, or be interrupted by this very wait.
// It then never finishes, so the wait has an end.
bool Samples::AwaitTurn() {
  constexpr uint64_t kLongest = 5'000'000'000;  // ns
  constexpr timespec kMoment{.tv_sec = 0, .tv_nsec = 50'000};
  for (const uint64_t began = Now(); !TryBegin(); nanosleep(&kMoment, nullptr)) {
    if (Now() - began > kLongest) return false;
  }
  return true;
}

// The context's events are gone as well.
void Samples::DropAll(CUcontext context, Taker take, void* with) {
  const uint64_t now = Now();
  queue_.Visit([&](int at) {
    Sample& sample = samples_[at];
    if (sample.context != context) return true;
    const Measurement measured{
        sample.cost, sample.place,   {1, 1},        sample.taken,    sample.launched_at,
        now,         sample.held_up, sample.stream, sample.launched, sample.measures};
    sample.state.store(kFree, std::memory_order_release);
    take(with, measured);
    return false;
  });
  for (Sample& sample : samples_) {
    State free = kFree;
    if (sample.context != context || !sample.state.compare_exchange_strong(free, kOwned)) continue;
    sample.before = sample.behind = nullptr;
    sample.context = nullptr;
    sample.state.store(kFree, std::memory_order_release);
  }
  clock_.Forget(context);
}

}  // namespace tessera::limiter
