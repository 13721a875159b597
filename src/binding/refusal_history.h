// SPDX-License-Identifier: Apache-2.0
// The latest refusals of containers, for `tessera explain`. A repeated cause of one container is
// counted. Bounded: the oldest goes first. Owned by BindEvents. Any thread.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"

namespace tessera {

struct RecordedRefusal {
  std::string pod_uid{};  // as kubelet knows it; empty: unknown
  std::string pod{};      // NAMESPACE/NAME; empty: unknown
  std::string container{};
  std::string resource{};
  Error error{};
  int count = 1;
  Wall first{};
  Wall last{};
  bool over = false;  // the container has got its devices since
};

class RefusalHistory {
 public:
  static constexpr size_t kMost = 256;
  static constexpr size_t kLongestMessage = 1024;

  // Adds a refusal; its count, times and `over` are not set.
  void Add(RecordedRefusal refusal, Wall now);
  // The container got its devices.
  void MarkOver(const std::string& pod_uid, const std::string& container);
  // The newest first.
  std::vector<RecordedRefusal> All() const;

 private:
  mutable Mutex mutex_;
  std::list<RecordedRefusal> kept_ TESSERA_GUARDED_BY(mutex_);  // the newest first
};

}  // namespace tessera
