// SPDX-License-Identifier: Apache-2.0
#include "binding/refusal_history.h"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

bool IsSame(const RecordedRefusal& a, const RecordedRefusal& b) {
  return a.pod_uid == b.pod_uid && a.pod == b.pod && a.container == b.container &&
         a.resource == b.resource && a.error.reason == b.error.reason;
}

}  // namespace

void RefusalHistory::Add(RecordedRefusal refusal, Wall now) {
  refusal.error.message.resize(std::min(refusal.error.message.size(), kLongestMessage));
  refusal.first = now;
  refusal.last = now;
  const MutexLock lock(mutex_);
  const auto same = std::ranges::find_if(
      kept_, [&](const RecordedRefusal& other) { return IsSame(refusal, other); });
  if (same != kept_.end()) {
    refusal.count = same->count + 1;
    refusal.first = same->first;
    kept_.erase(same);
  }
  kept_.push_front(std::move(refusal));
  if (kept_.size() > kMost) kept_.pop_back();
}

void RefusalHistory::MarkOver(const std::string& pod_uid, const std::string& container) {
  const MutexLock lock(mutex_);
  for (RecordedRefusal& kept : kept_) {
    const bool own = kept.pod_uid == pod_uid && kept.container == container;
    if (own && !pod_uid.empty()) kept.over = true;
  }
}

std::vector<RecordedRefusal> RefusalHistory::All() const {
  const MutexLock lock(mutex_);
  return {kept_.begin(), kept_.end()};
}

}  // namespace tessera
