// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/device_clock.h"

#include "limiter/accounting/ticks.h"
#include "limiter/driver/driver.h"

namespace tessera::limiter {
namespace {

constexpr unsigned kNonBlocking = 1;  // of a stream
// ns. Times since an older base are too coarse: the driver reports milliseconds as a float.
constexpr uint64_t kOldBase = 4'000'000'000;  // ns

struct Moment {
  uint64_t time;   // 0: not known
  uint64_t error;  // ns
};

// Records an event and finds its time: between the clock before the call and after the event was
// seen done.
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

}  // namespace

bool Elapsed(CUevent from, CUevent to, int64_t* ns) {
  float ms = 0;
  if (TheDriver().cuEventElapsedTime(&ms, from, to) != CUDA_SUCCESS) return false;
  *ns = static_cast<int64_t>(static_cast<double>(ms) * 1e6);
  return true;
}

DeviceClock::Base* DeviceClock::BaseOf(CUcontext context) {
  for (Base& base : bases_) {
    if (base.context == context) return &base;
  }
  return nullptr;
}

// Without a base, measured times of a context cannot be ordered.
void DeviceClock::Renew(CUcontext context) {
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

bool DeviceClock::TimeOf(CUcontext context, CUevent event, uint64_t* time, uint64_t* error) {
  const Base* const base = BaseOf(context);
  int64_t since = 0;
  if (base == nullptr || base->time == 0 || !Elapsed(base->event, event, &since)) return false;
  *time = base->time + static_cast<uint64_t>(since);
  *error = base->error;
  return true;
}

void DeviceClock::Forget(CUcontext context) {
  Base* const base = BaseOf(context);
  if (base != nullptr) *base = {};
}

}  // namespace tessera::limiter
