// SPDX-License-Identifier: Apache-2.0
// Events on their way to the API server: each arrives once, in the order in which they were added.
// While it cannot be reached they wait, the newest of them: what is beyond the limit is dropped,
// the oldest first. One thread: its loop's.
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
  // Between attempts at the first in line, beyond those of the client's own.
  static constexpr Backoff kRetries{Duration(1'000), Duration(15'000)};

  // What became of an event: "sent", "dropped" (there was no room), "refused" (the API server does
  // not take it, or its pod is gone).
  using Observer = std::function<void(std::string_view result)>;

  // Events come from `node`. The client outlives it.
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
  bool busy_ = false;    // with the first of them
  std::string refusal_;  // why it does not get through, as the log last said
  Backoff retries_;
  os::Alarm again_;
};

}  // namespace tessera::kube
