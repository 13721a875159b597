// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/samples.h"

#include <time.h>

#include "limiter/books/ticks.h"
#include "limiter/driver/driver.h"

namespace tessera::limiter {
namespace {

constexpr unsigned kNonBlocking = 1;  // of a stream
// So old, and times since the base are too coarse: a float of milliseconds.
constexpr uint64_t kOldBase = 4'000'000'000;  // ns

bool Record(CUevent event, const Stream& stream) {
  const Driver& driver = TheDriver();
  return (stream.per_thread ? driver.cuEventRecord_ptsz(event, stream.handle)
                            : driver.cuEventRecord(event, stream.handle)) == CUDA_SUCCESS;
}

void Destroy(CUevent event) {
  if (event != nullptr) TheDriver().cuEventDestroy_v2(event);
}

struct Moment {
  uint64_t time;   // 0: not known
  uint64_t error;  // by so many ns it may be another
};

// Records an event, and finds when that was.
Moment RecordNow(CUevent event, CUstream stream) {
  constexpr uint64_t kClose = 1'000;  // ns; good enough
  constexpr uint64_t kFar = 25'000;   // of no use
  constexpr int kTries = 4;
  const Driver& driver = TheDriver();
  for (int i = 1;; ++i) {
    const uint64_t before = Now();
    if (driver.cuEventRecord(event, stream) != CUDA_SUCCESS) return {};
    CUresult result = CUDA_ERROR_NOT_READY;
    uint64_t error = 0;
    while (result == CUDA_ERROR_NOT_READY && error <= kFar) {
      result = driver.cuEventQuery(event);
      error = (Now() - before) / 2;
    }
    if (result == CUDA_SUCCESS && error <= (i < kTries ? kClose : kFar)) {
      return {before + error, error};
    }
    if (i == kTries) return {};
  }
}

bool Elapsed(CUevent from, CUevent to, int64_t* ns) {
  float ms = 0;
  if (TheDriver().cuEventElapsedTime(&ms, from, to) != CUDA_SUCCESS) return false;
  *ns = static_cast<int64_t>(static_cast<double>(ms) * 1e6);
  return true;
}

}  // namespace

bool IsCaptured(const Stream& stream) {
  const Driver& driver = TheDriver();
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = stream.per_thread
                              ? driver.cuStreamIsCapturing_ptsz(stream.handle, &status)
                              : driver.cuStreamIsCapturing(stream.handle, &status);
  // A driver before CUDA 10 captures nothing.
  if (result == CUDA_ERROR_NOT_SUPPORTED) return false;
  return result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

Relaxed::Relaxed() : mode_(CU_STREAM_CAPTURE_MODE_RELAXED) {
  is_changed_ = TheDriver().cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS;
}
Relaxed::~Relaxed() {
  if (is_changed_) TheDriver().cuThreadExchangeStreamCaptureMode(&mode_);
}

Samples::Base* Samples::BaseOf(CUcontext context) {
  for (Base& base : bases_) {
    if (base.context == context) return &base;
  }
  return nullptr;
}

// With the bases to ourselves. Makes one, or a new one in place of an old one, in the context that
// is current. Without one it is not known how measured times lie to each other.
void Samples::RenewBase(CUcontext context) {
  Base* base = BaseOf(context);
  if (base == nullptr) base = BaseOf(nullptr);
  if (base == nullptr) return;
  if (base->time != 0 && Now() - base->time < kOldBase) return;
  const Driver& driver = TheDriver();
  if (base->context == nullptr) {
    CUstream stream = nullptr;
    CUevent event = nullptr;
    if (driver.cuStreamCreate(&stream, kNonBlocking) != CUDA_SUCCESS) return;
    if (driver.cuEventCreate(&event, 0) != CUDA_SUCCESS) {
      driver.cuStreamDestroy_v2(stream);
      return;
    }
    *base = {context, stream, event, 0, 0};
  }
  const Moment moment = RecordNow(base->event, base->stream);
  base->time = moment.time;
  base->error = moment.error;
}

// At best one whose events are of the context.
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
    RenewBase(context);
    Finish();
  }
  const int at = Own(context);
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

bool Samples::End(int at, const Stream& stream, int64_t taken, const OwnFlight::Point& launched) {
  Sample& sample = samples_[at];
  const Relaxed relaxed;
  sample.taken = taken;
  sample.launched = launched;
  sample.stream = stream.id();
  sample.held_up = Now() - sample.launched_at;
  if (Record(sample.behind, stream) && StandInLine(at)) return true;
  Cancel(at);
  return false;
}

bool Samples::StandInLine(int at) {
  uint32_t place = next_.load(std::memory_order_relaxed);
  do {
    if (place - first_.load(std::memory_order_acquire) >= kPlaces) return false;
  } while (!next_.compare_exchange_weak(place, place + 1, std::memory_order_relaxed));
  line_[place % kPlaces].store(static_cast<uint16_t>(at + 1), std::memory_order_release);
  return true;
}

// Those that are gone, from the beginning.
void Samples::LeaveLine() {
  uint32_t first = first_.load(std::memory_order_relaxed);
  while (line_[first % kPlaces].load(std::memory_order_relaxed) == kGone) {
    line_[first % kPlaces].store(0, std::memory_order_relaxed);
    first_.store(++first, std::memory_order_release);
  }
}

void Samples::Cancel(int at) {
  samples_[at].state.store(kFree, std::memory_order_release);
}

// It began when the event before it was over, and not before it was launched.
void Samples::Read(const Sample& sample, Measured* measured) {
  const Base* const base = BaseOf(sample.context);
  int64_t took = 0, end = 0;
  // Not without a current context.
  const bool is_told = Elapsed(sample.before, sample.behind, &took);
  if (!is_told) took = static_cast<int64_t>(Now() - sample.launched_at);
  const bool is_known =
      is_told && base != nullptr && base->time != 0 && Elapsed(base->event, sample.behind, &end);
  measured->cost = sample.cost;
  measured->place = sample.place;
  measured->weight = sample.weight;
  measured->taken = sample.taken;
  measured->held_up = sample.held_up;
  measured->stream = sample.stream;
  measured->launched = sample.launched;
  measured->end = is_known ? base->time + static_cast<uint64_t>(end) : Now();
  measured->start = measured->end - static_cast<uint64_t>(took);
  const uint64_t launched_at = is_known ? sample.launched_at - base->error : 0;
  if (measured->start < launched_at) measured->start = launched_at;
}

// In the order of their launches, so that what was busy is found from its beginning.
void Samples::CollectAll(Taker take, void* with) {
  constexpr int kNotReady = 8;  // then the others are not either
  const Relaxed relaxed;
  const uint32_t next = next_.load(std::memory_order_relaxed);
  uint32_t place = first_.load(std::memory_order_relaxed);
  for (int not_ready = 0; place != next && not_ready < kNotReady; ++place) {
    std::atomic<uint16_t>& stands = line_[place % kPlaces];
    const uint16_t at = stands.load(std::memory_order_acquire);
    if (at == 0) break;
    if (at == kGone) continue;
    Sample& sample = samples_[at - 1];
    const CUresult result = TheDriver().cuEventQuery(sample.behind);
    if (result == CUDA_ERROR_NOT_READY) {
      ++not_ready;
      continue;
    }
    Measured measured;
    const bool is_good = result == CUDA_SUCCESS;
    if (is_good) Read(sample, &measured);
    stands.store(kGone, std::memory_order_relaxed);
    sample.state.store(kFree, std::memory_order_release);
    if (is_good) take(with, measured);
  }
  LeaveLine();
}

// Who is ended in the midst of it, or interrupted by who waits here, never comes to an end.
bool Samples::AwaitTurn() {
  constexpr uint64_t kLongest = 5'000'000'000;  // ns
  constexpr timespec kMoment{.tv_sec = 0, .tv_nsec = 50'000};
  for (const uint64_t began = Now(); !TryBegin(); nanosleep(&kMoment, nullptr)) {
    if (Now() - began > kLongest) return false;
  }
  return true;
}

// Its events are gone as well.
void Samples::DropAll(CUcontext context, Taker take, void* with) {
  const uint64_t now = Now();
  const uint32_t next = next_.load(std::memory_order_relaxed);
  for (uint32_t place = first_.load(std::memory_order_relaxed); place != next; ++place) {
    std::atomic<uint16_t>& stands = line_[place % kPlaces];
    const uint16_t at = stands.load(std::memory_order_acquire);
    if (at == 0 || at == kGone || samples_[at - 1].context != context) continue;
    Sample& sample = samples_[at - 1];
    const Measured measured{sample.cost,    sample.place,       {1, 1},
                            sample.taken,   sample.launched_at, now,
                            sample.held_up, sample.stream,      sample.launched};
    stands.store(kGone, std::memory_order_relaxed);
    sample.state.store(kFree, std::memory_order_release);
    take(with, measured);
  }
  LeaveLine();
  for (Sample& sample : samples_) {
    State free = kFree;
    if (sample.context != context || !sample.state.compare_exchange_strong(free, kOwned)) continue;
    sample.before = sample.behind = nullptr;
    sample.context = nullptr;
    sample.state.store(kFree, std::memory_order_release);
  }
  Base* const base = BaseOf(context);
  if (base != nullptr) *base = {};
}

}  // namespace tessera::limiter
