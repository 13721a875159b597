// SPDX-License-Identifier: Apache-2.0
#include "cdi/cdi_reconciler.h"

#include <utility>

#include "base/log.h"

namespace tessera {
namespace {

// Bounds the restores, if another party removes documents without end.
constexpr Duration kPause{100};
constexpr Duration kRetry{1'000};

}  // namespace

CdiReconciler::CdiReconciler(os::Loop& loop, Duration poll, CdiDocuments& documents,
                             CdiConflicts conflicts, Situation situation)
    : loop_(loop),
      poll_(poll),
      documents_(documents),
      situation_(std::move(situation)),
      conflicts_(std::move(conflicts)),
      soon_(loop, [this] { RestoreDocuments(CdiFile::Against::kLoss); }) {}

void CdiReconciler::Poll() {
  const bool alone = situation_.alone();
  // A slow driver's devices may be unknown yet. Until each resource has described its own,
  // documents of an earlier process are not stale.
  if (alone && situation_.described() && !situation_.another_writes()) RemoveStale();
  std::set<std::string> own = documents_.Directories();
  if (own != directories_) {
    directories_ = std::move(own);
    Watch();
  }
  if (directories_.empty()) return;
  // While another instance may still grant by its document, only a lost document is restored.
  RestoreDocuments(alone ? CdiFile::Against::kChange : CdiFile::Against::kLoss);
}

void CdiReconciler::RemoveStale() {
  const Status removed = conflicts_.RemoveStale(situation_.held);
  const std::string refusal = removed ? "" : removed.error().message;
  if (std::exchange(refusal_, refusal) == refusal || removed) return;
  log::LogError("cannot remove CDI documents that no resource uses", removed.error());
}

void CdiReconciler::Watch() {
  if (watch_ == nullptr) {
    auto watch = os::DirectoryWatch::Make(loop_, poll_, [this] { soon_.RingWithin(kPause); });
    if (!watch) return log::Warn("CDI documents are watched by polling only", watch.error());
    watch_ = *std::move(watch);
  }
  watch_->Watch(directories_);
}

void CdiReconciler::RestoreDocuments(CdiFile::Against against) {
  conflicts_.LookForConflicts();
  if (situation_.another_writes()) return;
  documents_.Restore(against);
  if (!documents_.AllWritten()) soon_.RingWithin(kRetry);
}

}  // namespace tessera
