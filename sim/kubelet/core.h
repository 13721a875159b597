// SPDX-License-Identifier: Apache-2.0
// The shared parts of one running embedded kubelet: its directories, its accounting under one
// mutex, its loop and its workers. Made at start, gone after Stop. The facade owns it, and the
// parts refer to it.
//
// The loop's thread runs work that must not wait: accepts, timers, received lists. Blocking work
// runs on a worker or on the caller's thread. gRPC's threads only hand over.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>

#include "base/mutex.h"
#include "kubelet/root.h"
#include "os/loop.h"
#include "os/worker.h"
#include "sim/kubelet/cancellation.h"
#include "sim/kubelet/device_manager.h"
#include "sim/kubelet/embedded.h"
#include "sim/kubelet/pods.h"

namespace tessera::kubelet::embedded {

class Core {
 public:
  explicit Core(const EmbeddedOptions& options);

  const EmbeddedOptions options;
  const Directories directories;
  std::string pods_file() const { return directories.root + "/pods.json"; }

  Mutex mutex;
  std::condition_variable_any changed;
  uint64_t version TESSERA_GUARDED_BY(mutex) = 0;  // the number of changes
  DeviceManager devices TESSERA_GUARDED_BY(mutex);
  Pods pods TESSERA_GUARDED_BY(mutex);
  Ids pending TESSERA_GUARDED_BY(mutex);                          // the uid of the pod in admission
  std::string api_version TESSERA_GUARDED_BY(mutex) = "v1beta1";  // required of plugins
  bool new_shape TESSERA_GUARDED_BY(mutex) = false;  // fault: the checkpoint has another shape

  std::atomic<bool> silent{false};  // fault: Register is accepted without a stream
  std::atomic<bool> stuck{false};   // fault: Register is not answered
  Cancellation stopping;
  Outstanding outstanding;  // streams, calls and tasks that refer to this object
  os::Loop loop;
  os::Workers workers{64};

  // A wait of kubelet's, scaled by this kubelet's speed.
  Duration Scaled(Duration real) const {
    return std::max(real / std::max(options.speed, 1), Duration(1));
  }

  // Wakes the waiters for a change.
  void Changed() TESSERA_REQUIRES(mutex);
  void SaveCheckpoint() TESSERA_REQUIRES(mutex);
  void SavePods() TESSERA_REQUIRES(mutex);
  // Frees the devices of ended pods.
  void CollectGarbage() TESSERA_REQUIRES(mutex);

  // Call it without the mutex, as DeliverEvents.
  void Emit(KubeletEvent::Kind kind, const std::string& resource, std::string text);
  void SetListener(std::function<void(const KubeletEvent&)> listener);
  // Delivers queued events: on the loop, and once more at the end, when it no longer runs.
  void DeliverEvents();

 private:
  Mutex event_mutex_;
  std::deque<KubeletEvent> events_ TESSERA_GUARDED_BY(event_mutex_);
  // Held while a listener runs, so that SetListener returns only after the former listener has
  // ended. A listener may itself set the next one, so the mutex is recursive, which no Mutex is.
  std::recursive_mutex listener_mutex_;
  std::function<void(const KubeletEvent&)> listener_;
};

}  // namespace tessera::kubelet::embedded
