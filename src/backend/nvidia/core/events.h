// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's driver tells about GPUs by itself: XIDs, and memory errors of two bits, through one
// NVML event set over all GPUs. One watcher a session, shared by the backends of all resources:
// each hears of every event.
//
// It has one thread, from the first listener on, which alone calls NVML. It holds the library while
// it waits for events, at most kWait at a time, so a library that is discarded is closed within
// that. Where NVML hangs, the thread is left behind; it owns all it uses.
//
// An event set that breaks is made anew, after pauses that double (kRetries) and begin anew once a
// set has held for longer than the longest of them; that is told once, and changes no verdict:
// checks go on without it. Source: NVML's reference, "Event Handling Methods".
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

// Of one GPU, or of MIG devices on it where an instance is named.
struct Event {
  std::string gpu{};  // its UUID; empty where the driver named a GPU that is not known
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

  // How its thread tells the time and, between event sets, spends it; both run on that thread.
  struct Time {
    std::function<Steady()> now = [] { return SystemClock().Now(); };
    std::function<void(Duration)> pause{};  // none: it waits, no longer than the watcher is there
  };

  explicit EventWatcher(std::shared_ptr<nvml::Session> session)
      : EventWatcher(std::move(session), Time()) {}
  EventWatcher(std::shared_ptr<nvml::Session> session, Time time);
  // Waits for nothing.
  ~EventWatcher();
  EventWatcher(const EventWatcher&) = delete;
  EventWatcher& operator=(const EventWatcher&) = delete;

  // The watcher of this session that others have, or a new one.
  static std::shared_ptr<EventWatcher> Of(const std::shared_ptr<nvml::Session>& session);

  // `owner` tells listeners apart.
  void Subscribe(const void* owner, Listener listener);
  // The listener does not run any more once this has returned. Not from within a listener.
  void Unsubscribe(const void* owner);

  // The GPUs to watch, by NVML's index, with their UUIDs: those that have just answered. One that
  // hangs when it is asked for events holds up all others', so none that hangs may be among them.
  void Watch(std::map<unsigned, std::string> gpus);
  // Makes the event set anew: a GPU that was reset may have forgotten what it was asked for.
  void Renew();
  // How many GPUs are watched now.
  size_t watched() const;
  // Why the driver does not take this GPU's events, though it knows events of it; asked again after
  // every wait. Nothing where it takes them, knows none, or was not asked yet.
  std::optional<std::string> Refusal(const std::string& uuid) const;

 private:
  struct State;  // shared with the thread
  const std::shared_ptr<State> state_;
};

}  // namespace tessera::nvidia
