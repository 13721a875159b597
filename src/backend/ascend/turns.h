// SPDX-License-Identifier: Apache-2.0
// Turns at chips: one caller at a time has that of a chip, and others wait no longer than they
// want. So a call that hangs with its chip stops no other chip. Any thread.
#pragma once

#include <optional>
#include <set>
#include <utility>

#include "backend/ascend/dcmi.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace tessera::dcmi {

class Turns {
 public:
  // It ends with this object, which the Turns outlive.
  class Turn {
   public:
    Turn(Turns& of, Place place) : of_(&of), place_(place) {}
    Turn(Turn&& other) noexcept : of_(std::exchange(other.of_, nullptr)), place_(other.place_) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (of_ != nullptr) of_->End(place_);
    }

   private:
    Turns* of_;
    Place place_;
  };

  // Null: another caller has it until then.
  std::optional<Turn> Take(Place place, Steady until) {
    MutexLock lock(mutex_);
    while (taken_.contains(place)) {
      if (ended_.wait_until(lock, until) == std::cv_status::no_timeout) continue;
      if (taken_.contains(place)) return std::nullopt;
    }
    taken_.insert(place);
    return std::optional<Turn>(std::in_place, *this, place);
  }

 private:
  void End(Place place) {
    const MutexLock lock(mutex_);
    taken_.erase(place);
    ended_.notify_all();
  }

  Mutex mutex_;
  ConditionVariable ended_;
  std::set<Place> taken_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera::dcmi
