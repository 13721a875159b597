// SPDX-License-Identifier: Apache-2.0
// The newest grant of all resources. kubelet admits one container after the other, and asks for its
// resources in a row. So the newest grant of another resource is probably the same container's.
// Shared by all allocators. Any thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "choose/toward.h"

namespace tessera::agent {

class RecentGrant {
 public:
  // kubelet's next question for a container comes within milliseconds.
  static constexpr Duration kRecent{500};
  // An offer with more devices is not kept, as it would stay in memory beside its successor.
  static constexpr size_t kMostDevices = 1'024;

  void Put(OfferPtr offer, std::vector<std::string> ids, Steady now) {
    const MutexLock lock(mutex_);
    last_ = {};
    at_ = now;
    if (offer->devices.size() <= kMostDevices) last_ = {std::move(offer), std::move(ids)};
  }
  // The newest grant, if it was of another resource and is recent.
  std::optional<GrantedBeside> Beside(const std::string& resource, Steady now) const {
    const MutexLock lock(mutex_);
    const bool other = last_.offer != nullptr && last_.offer->resource != resource;
    if (!other || now - at_ > kRecent) return std::nullopt;
    return last_;
  }

 private:
  mutable Mutex mutex_;
  GrantedBeside last_ TESSERA_GUARDED_BY(mutex_);
  Steady at_ TESSERA_GUARDED_BY(mutex_){};
};

}  // namespace tessera::agent
