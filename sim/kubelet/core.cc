// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/core.h"

#include "base/log.h"
#include "kubelet/checkpoint.h"
#include "os/files.h"

namespace tessera::kubelet::embedded {

Core::Core(const EmbeddedOptions& options_)
    : options(options_),
      directories{options_.root},
      devices(options_.rules, Scaled(options_.grace), options_.seed) {}

void Core::Changed() {
  ++version;
  changed.notify_all();
}

void Core::SaveCheckpoint() {
  // kubelet also goes on without it. Not synced: no power loss is simulated, and a busy disk would
  // delay everything else.
  Status saved = os::ReplaceFile(
      directories.device_plugins() + "/" + kCheckpointFile,
      new_shape ? R"({"allocations":[],"version":2})" : WriteCheckpoint(devices.Save()));
  if (!saved) log::Warn("checkpoint not written", saved.error());
}

void Core::SavePods() {
  Status saved = os::ReplaceFile(pods_file(), pods.Write());
  if (!saved) log::Warn("pods not written", saved.error());
}

void Core::CollectGarbage() {
  Ids active = pods.Uids();
  active.insert(pending.begin(), pending.end());
  devices.CollectGarbage(active);
}

void Core::Emit(KubeletEvent::Kind kind, const std::string& resource, std::string text) {
  Steady now = SystemClock().Now();
  {
    const MutexLock lock(event_mutex_);
    events_.push_back({kind, now, resource, std::move(text)});
  }
  loop.Post([this] { DeliverEvents(); });
}

void Core::DeliverEvents() {
  const std::lock_guard running(listener_mutex_);
  for (;;) {
    MutexLock lock(event_mutex_);
    if (events_.empty()) return;
    KubeletEvent event = std::move(events_.front());
    events_.pop_front();
    lock.unlock();
    auto listener = listener_;
    if (listener) listener(event);
  }
}

void Core::SetListener(std::function<void(const KubeletEvent&)> listener) {
  const std::lock_guard running(listener_mutex_);
  listener_ = std::move(listener);
}

}  // namespace tessera::kubelet::embedded
