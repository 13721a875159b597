// SPDX-License-Identifier: Apache-2.0
// Events of NVIDIA's driver: XIDs and double-bit memory errors. They come through one NVML event
// set over all GPUs. One watcher a session is shared by the backends of all resources; each gets
// every event.
//
// The watcher's one thread starts with the first listener. Only this thread waits in NVML for
// events. It holds the library for at most kWait at a time, so a discarded library is closed within
// that. If NVML hangs, the thread stays there; it owns all that it uses.
//
// A broken event set is replaced after pauses that double (kRetries). They start over once a set
// has lasted longer than the longest pause. The failure is logged once and changes no verdict, as
// checks go on. Source: NVML's reference, "Event Handling Methods".
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backend/nvidia/nvml/nvml.h"
#include "base/backoff.h"
#include "base/clock.h"

namespace tessera::nvidia {

// An event of one GPU, or of its MIG devices if an instance is named.
struct Event {
  std::string gpu{};  // its UUID; empty: the driver named an unknown GPU
  uint64_t xid = 0;
  unsigned gpu_instance = nvml::kNoInstance;
  unsigned compute_instance = nvml::kNoInstance;
  bool operator==(const Event&) const = default;
};

// Any thread.
class EventWatcher {
 public:
  static constexpr Duration kWait{5'000};
  static constexpr Duration kLongestRetry{60'000};
  static constexpr Backoff kRetries{Duration(1'000), kLongestRetry};

  // Runs on the watcher's thread, and must not block.
  using Listener = std::function<void(const Event&)>;

  // The watcher's clock, and its pause between event sets. Both run on its thread.
  struct Time {
    std::function<Steady()> now = [] { return SystemClock().Now(); };
    std::function<void(Duration)> pause{};  // none: it waits, until the watcher's end at the latest
  };

  explicit EventWatcher(std::shared_ptr<nvml::Session> session)
      : EventWatcher(std::move(session), Time()) {}
  EventWatcher(std::shared_ptr<nvml::Session> session, Time time);
  // Does not wait.
  ~EventWatcher();
  EventWatcher(const EventWatcher&) = delete;
  EventWatcher& operator=(const EventWatcher&) = delete;

  // The existing watcher of this session, or a new one.
  static std::shared_ptr<EventWatcher> Of(const std::shared_ptr<nvml::Session>& session);

  // `owner` identifies the listener.
  void Subscribe(const void* owner, Listener listener);
  // After its return the listener does not run any more. Not from within a listener.
  void Unsubscribe(const void* owner);

  // The GPUs to watch, UUIDs by NVML's index. All must have just answered: one that hangs at its
  // registration delays the events of all.
  void Watch(std::map<unsigned, std::string> gpus);
  // Replaces the event set: a GPU that was reset may have lost its registration.
  void Renew();
  // The number of GPUs that are watched now.
  size_t watched() const;
  // Why the driver refuses this GPU's events, though it supports some; retried after every wait.
  // Null: it reports them, supports none, or was not asked yet.
  std::optional<std::string> Refusal(const std::string& uuid) const;

 private:
  struct State;  // shared with the thread
  const std::shared_ptr<State> state_;
};

}  // namespace tessera::nvidia
