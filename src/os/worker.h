// SPDX-License-Identifier: Apache-2.0
// Threads for calls that may block: one task a thread, idle threads are reused and end after a
// while, but for the last idle one. A task that hangs costs its own thread and nothing else.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/clock.h"

namespace tessera::os {

class Workers {
 public:
  // At most `limit` threads; further tasks wait in line.
  explicit Workers(int limit);
  // Tasks not begun are dropped; running ones are waited for at most `kGrace`, then left behind
  // (their threads own all they use), so that a hung vendor call cannot keep the agent from ending.
  ~Workers();
  static constexpr Duration kGrace{300};

  // Any thread. Where the process may have no more threads, the task waits for one that there is,
  // or for GoOn.
  void Run(std::function<void()> task);
  // `one` for each number below `count`, beginning with this thread: who takes one up has another
  // thread help while there is more, so that many wait for disks at once and few threads are woken
  // where nothing waits. `then` once all are done, by who did the last. Any thread.
  void ForEach(size_t count, std::function<void(size_t)> one, std::function<void()> then);
  // Tries again to get another thread, if a task waits for one: for who waits for the task, which
  // those that there are may never take up. Any thread.
  void GoOn();

  struct State;  // shared with the threads, which may outlive this object

 private:
  std::shared_ptr<State> state_;
};

}  // namespace tessera::os
