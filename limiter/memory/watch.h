// SPDX-License-Identifier: Apache-2.0
// The change of a device's free memory during a call: the only measure of memory whose size the
// driver does not report. Memory that the container counted meanwhile is subtracted. Neighbours'
// changes are not known, so a watch covers only single calls. One thread.
#pragma once

#include "limiter/accounting/accounting.h"
#include "limiter/accounting/ticks.h"
#include "limiter/memory/devices.h"

namespace tessera::limiter {

class Watch {
 public:
  // Blind if the device's context is not current.
  explicit Watch(CUdevice device)
      : device_(device),
        place_(PlaceOfDevice(device)),
        free_(FreeInContext(device)),
        used_(UsedByTheLiving()) {}

  bool is_blind() const { return free_ == 0; }
  // Bytes since the construction; 0: none, or not known.
  uint64_t Taken() const { return Difference(1); }
  uint64_t Given() const { return Difference(-1); }
  // True if a process of the container died. Its memory may have come free meanwhile, so that less
  // was seen than was taken. After Taken() or Given().
  bool is_disturbed() const { return ReapedAt() + kGivenBackAfter > begun_; }

 private:
  uint64_t UsedByTheLiving() const {
    ReapAll();
    return Used(place_);
  }
  uint64_t Difference(int64_t sign) const {
    const uint64_t free = free_ == 0 ? 0 : FreeInContext(device_);
    if (free == 0) return 0;
    const auto less = static_cast<int64_t>(free_ - free);
    const auto counted = static_cast<int64_t>(UsedByTheLiving() - used_);
    const int64_t difference = sign * (less - counted);
    return difference > 0 ? static_cast<uint64_t>(difference) : 0;
  }

  const uint64_t begun_ = Now();
  const CUdevice device_;
  const int place_;
  const uint64_t free_;
  const uint64_t used_;
};

}  // namespace tessera::limiter
