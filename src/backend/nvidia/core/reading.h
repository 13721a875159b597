// SPDX-License-Identifier: Apache-2.0
// Reads GPUs one after the other on a worker, for callers that wait a limited time. A hanging GPU
// keeps one thread and delays no other's answer. Any thread.
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

// The reading of one GPU, in flight or done; shared with the thread that reads.
template <class T>
struct Reading {
  Mutex mutex;
  ConditionVariable done;
  std::optional<T> answer TESSERA_GUARDED_BY(mutex);
  bool late TESSERA_GUARDED_BY(mutex) = false;  // a caller has timed out on it

  bool IsDone() {
    const MutexLock lock(mutex);
    return answer.has_value();
  }
  void Finish(T read) {
    const MutexLock lock(mutex);
    answer = std::move(read);
    done.notify_all();
  }
  // The answer; null if it does not come by the limit. Only the first caller waits that long.
  std::optional<T> Await(std::chrono::steady_clock::time_point limit) {
    MutexLock lock(mutex);
    const auto is_done = [this]() TESSERA_REQUIRES(mutex) { return answer.has_value(); };
    if (!late) late = !done.wait_until(lock, limit, is_done);
    return answer;
  }
};

// Runs tasks in turn on one thread, which is quicker than a thread for each. If a task takes longer
// than a turn, or hangs, another thread runs the rest.
class SerialQueue {
 public:
  static constexpr Duration kTurn{5};

  explicit SerialQueue(os::Workers& workers) : workers_(workers) {}

  void Add(std::function<void()> task);
  // Waits until all tasks have ended, the rest hangs, or the limit is reached. A task that takes
  // too long makes another thread run the rest.
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
