// SPDX-License-Identifier: Apache-2.0
// Contexts, for whoever counts what is in them. Any thread.
#pragma once

#include <atomic>

#include "limiter/accounting/cancel.h"
#include "limiter/driver/driver.h"

namespace tessera::limiter {

// Whose all is that is allocated in a context: of a green one (green.cc) the primary context, else
// its own.
inline constinit std::atomic<bool> has_green_contexts{false};
CUcontext OwnerOf(CUcontext context);
// Of the calling thread's context; null: there is none.
CUcontext CurrentOwner();

// There was more than one, of whatever device.
inline constinit std::atomic<bool> has_several_contexts{false};

// Current meanwhile, if there is one.
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
// Holds the primary context of a device, if there is one, that the limiter has a question for. Who
// releases it meanwhile waits: it ends with a call of the program's, by which it is counted.
class BorrowedPrimary {
 public:
  explicit BorrowedPrimary(CUdevice device);
  ~BorrowedPrimary();
  BorrowedPrimary(const BorrowedPrimary&) = delete;
  BorrowedPrimary& operator=(const BorrowedPrimary&) = delete;

  CUcontext context() const { return context_; }  // null: there is none

 private:
  const Uncancelled uncancelled_;
  const CUdevice device_;
  CUcontext context_ = nullptr;
};
// Contexts of a place that were made when nobody knew what one takes are counted, if somebody found
// out since: past the limit if need be.
void CountLate(int place);

}  // namespace tessera::limiter
