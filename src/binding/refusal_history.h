// SPDX-License-Identifier: Apache-2.0
// Which containers were lately not given their devices, and why, for `tessera explain`. The same
// cause of the same container counts. Bounded: the oldest goes first. Any thread.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"

namespace tessera {

struct RecordedRefusal {
  std::string pod_uid{};  // as kubelet knows it; empty: kubelet had not said whose it is
  std::string pod{};      // NAMESPACE/NAME; empty: nobody said it
  std::string container{};
  std::string resource{};
  Error error{};
  int count = 1;
  Wall first{};
  Wall last{};
  bool over = false;  // the container has its devices since
};

class RefusalHistory {
 public:
  static constexpr size_t kMost = 256;
  static constexpr size_t kLongestMessage = 1024;

  // `refusal` has neither count nor times, and is not over.
  void Add(RecordedRefusal refusal, Wall now);
  // The container has its devices.
  void MarkOver(const std::string& pod_uid, const std::string& container);
  // The newest first.
  std::vector<RecordedRefusal> All() const;

 private:
  mutable Mutex mutex_;
  std::list<RecordedRefusal> kept_ TESSERA_GUARDED_BY(mutex_);  // the newest first
};

}  // namespace tessera
