// SPDX-License-Identifier: Apache-2.0
// How much less is free of a device than a moment ago: the only measure of what the driver takes
// and does not tell. What the container counted meanwhile is left out; what its neighbours took is
// not known, so it is asked for around single calls alone.
#pragma once

#include "limiter/accounting/accounting.h"
#include "limiter/accounting/ticks.h"
#include "limiter/memory/devices.h"

namespace tessera::limiter {

class Watch {
 public:
  // Sees nothing where the device's context is not current.
  explicit Watch(CUdevice device)
      : device_(device),
        place_(PlaceOfDevice(device)),
        free_(FreeInContext(device)),
        used_(UsedByTheLiving()) {}

  bool is_blind() const { return free_ == 0; }
  // Bytes since then; 0: none, or nobody knows.
  uint64_t Taken() const { return Difference(1); }
  uint64_t Given() const { return Difference(-1); }
  // A process of the container died: what was its memory may have come to be free meanwhile, and
  // more was taken than is seen. After Taken() or Given().
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
