// SPDX-License-Identifier: Apache-2.0
// The queue of events for the API server. Each event arrives once, in the order of Add. While the
// API server is unreachable, the newest kLimit events wait and older ones are dropped. One thread:
// the loop's.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/backoff.h"
#include "kube/client.h"
#include "kube/event.h"
#include "os/alarm.h"
#include "os/loop.h"

namespace tessera::kube {

class EventQueue {
 public:
  static constexpr size_t kLimit = 1'000;
  // Pauses between attempts at the first event, on top of the client's own retries.
  static constexpr Backoff kRetries{Duration(1'000), Duration(15'000)};

  // Receives each event's result: "sent", "dropped" (no room), or "refused" (the API server rejects
  // it, or its pod is gone).
  using Observer = std::function<void(std::string_view result)>;

  // `node` is the source of all events. The client outlives the queue.
  EventQueue(os::Loop& loop, Client& client, std::string node, Observer observer,
             Backoff retries = kRetries);

  void Add(std::vector<Event> events);

 private:
  struct QueuedEvent {
    Event event;
    int denials = 0;
  };
  void SendNext();
  void AskForUid();
  void Send();
  void SendFailed(const Error& error);
  void FinishEvent(std::string_view result);

  os::Loop& loop_;
  Client& client_;
  const std::string node_;
  const Observer observer_;
  std::deque<QueuedEvent> queue_;
  bool busy_ = false;    // the first event is being sent
  std::string refusal_;  // last logged error
  Backoff retries_;
  os::Alarm again_;
};

}  // namespace tessera::kube
