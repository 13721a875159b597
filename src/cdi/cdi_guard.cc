// SPDX-License-Identifier: Apache-2.0
#include "cdi/cdi_guard.h"

#include <utility>

#include "base/log.h"

namespace tessera {
namespace {

// Who removes documents without end shall not keep us, and the runtime, busy without end.
constexpr Duration kPause{100};
constexpr Duration kRetry{1'000};

}  // namespace

CdiGuard::CdiGuard(os::Loop& loop, Duration poll, CdiDocuments& documents, CdiNeighbours neighbours,
                   Situation situation)
    : loop_(loop),
      poll_(poll),
      documents_(documents),
      situation_(std::move(situation)),
      neighbours_(std::move(neighbours)),
      soon_(loop, [this] { Keep(CdiFile::Against::kLoss); }) {}

void CdiGuard::Look() {
  const bool alone = situation_.alone();
  // A slow driver's devices are not known yet: what an earlier process wrote of them is not stale.
  if (alone && situation_.described() && !situation_.another_writes()) RemoveStale();
  std::set<std::string> own = documents_.Directories();
  if (own != directories_) {
    directories_ = std::move(own);
    Watch();
  }
  if (directories_.empty()) return;
  // Another document of ours stays until it is sure that nobody grants by it.
  Keep(alone ? CdiFile::Against::kChange : CdiFile::Against::kLoss);
}

void CdiGuard::RemoveStale() {
  const Status removed = neighbours_.RemoveStale(situation_.held);
  const std::string refusal = removed ? "" : removed.error().message;
  if (std::exchange(refusal_, refusal) == refusal || removed) return;
  log::LogError("cannot remove CDI documents of ours that nothing names any more", removed.error());
}

void CdiGuard::Watch() {
  if (watch_ == nullptr) {
    auto watch = os::DirectoryWatch::Make(loop_, poll_, [this] { soon_.Within(kPause); });
    if (!watch) return log::Warn("CDI documents are looked at now and then alone", watch.error());
    watch_ = *std::move(watch);
  }
  watch_->Watch(directories_);
}

void CdiGuard::Keep(CdiFile::Against against) {
  neighbours_.LookForConflicts();
  if (situation_.another_writes()) return;
  documents_.Keep(against);
  if (!documents_.AllWritten()) soon_.Within(kRetry);
}

}  // namespace tessera
