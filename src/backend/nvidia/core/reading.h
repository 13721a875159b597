// SPDX-License-Identifier: Apache-2.0
// GPUs read one after the other on a worker, for who waits for a limited time: one that hangs costs
// a thread, and no other's answer. Any thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "os/worker.h"

namespace tessera::nvidia {

// What is read of one GPU, under way or done; shared with the thread that reads.
template <class T>
struct Reading {
  Mutex mutex;
  ConditionVariable done;
  std::optional<T> answer TESSERA_GUARDED_BY(mutex);
  bool late TESSERA_GUARDED_BY(mutex) = false;  // somebody has waited for it in vain

  bool IsDone() {
    const MutexLock lock(mutex);
    return answer.has_value();
  }
  void Finish(T read) {
    const MutexLock lock(mutex);
    answer = std::move(read);
    done.notify_all();
  }
  // Nothing when it has not come until then.
  std::optional<T> Await(std::chrono::steady_clock::time_point limit) {
    MutexLock lock(mutex);
    const auto is_done = [this]() TESSERA_REQUIRES(mutex) { return answer.has_value(); };
    if (!late) late = !done.wait_until(lock, limit, is_done);
    return answer;
  }
};

// Tasks that one thread does in turn, which is quicker than a thread for each; when one takes
// longer than a turn, or hangs, another thread goes on with the rest.
class SerialQueue {
 public:
  static constexpr Duration kTurn{5};

  explicit SerialQueue(os::Workers& workers) : workers_(workers) {}

  void Add(std::function<void()> task);
  // Does all, but for what hangs, and no longer than until then: past a task that takes too long,
  // another thread goes on.
  void Run(std::chrono::steady_clock::time_point limit);

 private:
  struct QueueState {
    Mutex mutex;
    ConditionVariable done;
    std::deque<std::function<void()>> tasks TESSERA_GUARDED_BY(mutex);  // not begun
    size_t unfinished TESSERA_GUARDED_BY(mutex) = 0;
  };

  void RunQueued();

  os::Workers& workers_;
  const std::shared_ptr<QueueState> rest_ = std::make_shared<QueueState>();
};

}  // namespace tessera::nvidia
