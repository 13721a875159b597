// SPDX-License-Identifier: Apache-2.0
// A thread pool for calls that may block. Idle threads are reused and end after a while, except the
// last. A hung task occupies only its own thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/clock.h"

namespace tessera::os {

class Workers {
 public:
  // At most `limit` threads. Further tasks wait in a queue.
  explicit Workers(int limit);
  // Drops queued tasks and waits at most kGrace for running ones. Hung threads are left behind and
  // own all they use, so a hung vendor call cannot keep the agent from ending.
  ~Workers();
  static constexpr Duration kGrace{300};

  // Any thread. If the process may have no more threads, the task waits for an existing one, or for
  // GoOn.
  void Run(std::function<void()> task);
  // Calls `one` for each number below `count`, starting on this thread. Each thread that takes a
  // number gets one more thread to help while numbers remain. So many calls can wait for disks at
  // once, and few threads wake if none blocks. The thread that completes the last call runs `then`.
  // Any thread.
  void ForEach(size_t count, std::function<void(size_t)> one, std::function<void()> then);
  // Tries again to start a thread for a waiting task. For a caller whose task the existing threads
  // may never take. Any thread.
  void GoOn();

  struct State;  // shared with the threads, which may outlive this object

 private:
  std::shared_ptr<State> state_;
};

}  // namespace tessera::os
