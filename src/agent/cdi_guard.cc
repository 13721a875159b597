// SPDX-License-Identifier: Apache-2.0
#include "agent/cdi_guard.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace tessera::agent {
namespace {

// Who removes documents without end shall not keep us, and the runtime, busy without end.
constexpr Duration kPause{100};
constexpr Duration kRetry{1'000};

}  // namespace

CdiGuard::CdiGuard(os::Loop& loop, Duration poll, const ServedResources& resources,
                   Situation situation)
    : loop_(loop),
      poll_(poll),
      resources_(resources),
      situation_(std::move(situation)),
      soon_(loop, [this] { Keep(CdiFile::Against::kLoss); }) {}

void CdiGuard::Look() {
  std::set<std::string> directories;
  for (const auto& [name, resource] : resources_) {
    const std::string& path = resource->cdi().path();
    if (!path.empty()) directories.insert(path.substr(0, path.rfind('/')));
  }
  if (directories != directories_) {
    directories_ = std::move(directories);
    Watch();
  }
  if (directories_.empty()) return;
  // Another document of ours stays until it is sure that nobody grants by it.
  Keep(situation_.alone() ? CdiFile::Against::kChange : CdiFile::Against::kLoss);
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
  if (situation_.another_writes()) return;
  for (const auto& [name, resource] : resources_) resource->cdi().Keep(against);
  if (!AllWritten()) soon_.Within(kRetry);
}

bool CdiGuard::AllWritten() const {
  return std::all_of(resources_.begin(), resources_.end(), [](const auto& item) {
    const CdiFile& cdi = item.second->cdi();
    return cdi.document().empty() || cdi.written();
  });
}

}  // namespace tessera::agent
