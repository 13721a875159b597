// SPDX-License-Identifier: Apache-2.0
// Contexts, for code that counts their contents. Any thread.
#pragma once

#include <atomic>

#include "limiter/accounting/cancel.h"
#include "limiter/driver/driver.h"

namespace tessera::limiter {

// The context that owns allocations: for a green context (green.cc) the primary one, otherwise the
// context itself.
inline constinit std::atomic<bool> has_green_contexts{false};
CUcontext OwnerOf(CUcontext context);
// The owner for the calling thread's context; null: none.
CUcontext CurrentOwner();

// True once this process had several contexts, of any devices.
inline constinit std::atomic<bool> has_several_contexts{false};

// Makes a context current for its own lifetime; null: does nothing.
class PushedContext {
 public:
  explicit PushedContext(CUcontext context)
      : is_pushed_(context != nullptr && TheDriver().cuCtxPushCurrent_v2(context) == CUDA_SUCCESS) {
  }
  ~PushedContext() {
    CUcontext popped = nullptr;
    if (is_pushed_) TheDriver().cuCtxPopCurrent_v2(&popped);
  }
  PushedContext(const PushedContext&) = delete;
  PushedContext& operator=(const PushedContext&) = delete;

 private:
  const bool is_pushed_;
};

// The primary context that this process retained; null: none.
CUcontext PrimaryOf(CUdevice device);
// Holds a device's existing primary context for a query of the limiter. A thread that releases the
// context waits until then: it must end in a call of the program, which counts the end.
class BorrowedPrimary {
 public:
  explicit BorrowedPrimary(CUdevice device);
  ~BorrowedPrimary();
  BorrowedPrimary(const BorrowedPrimary&) = delete;
  BorrowedPrimary& operator=(const BorrowedPrimary&) = delete;

  CUcontext context() const { return context_; }  // null: none

 private:
  const Uncancelled uncancelled_;
  const CUdevice device_;
  CUcontext context_ = nullptr;
};
// Counts contexts of a place that were made before their size was known, if it is known now. Past
// the limit if need be.
void CountLate(int place);

}  // namespace tessera::limiter
