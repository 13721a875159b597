// SPDX-License-Identifier: Apache-2.0
#include "prepare/preparation_keeper.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace tessera {

PreparationKeeper::PreparationKeeper(Surroundings at)
    : at_(std::move(at)),
      next_(at_.loop, [this] { RefreshStanding(); }),
      mailbox_(at_.loop, *this),
      preparations_(std::make_shared<Preparations>(
          at_.state_dir, at_.root, mailbox_.Bind(&PreparationKeeper::RefreshStanding))) {}

// The first call runs before any list goes out, and waits for the disk. So no list offers an
// outstanding device as healthy. Later calls do not wait for the disk.
void PreparationKeeper::Open(const kubelet::Directories& directories) {
  preparations_->Open(directories.device_plugins());
  if (std::exchange(opened_, true) || !preparations_->any()) return;
  const Status loaded = preparations_->Load();
  if (!loaded) log::Warn("the preparations of earlier agents are not known yet", loaded.error());
  RefreshStanding();
}

void PreparationKeeper::RemoveForgotten() {
  at_.workers.Run([preparations = preparations_] { preparations->RemoveForgotten(); });
}

void PreparationKeeper::RefreshStanding() {
  const std::optional<Steady> next = preparations_->Tick();
  if (next) next_.RingWithin(std::max(Duration(0), *next - SystemClock().Now()));
  Preparations::Standing standing = preparations_->standing();
  if (standing == standing_) return;
  standing_ = std::move(standing);
  at_.changed(standing_);
}

}  // namespace tessera
