// SPDX-License-Identifier: Apache-2.0
// GPUs read one after the other on a worker, for who waits for a limited time: one that hangs costs
// a thread, and no other's answer. Any thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "os/worker.h"

namespace tessera::nvidia {

// What is read of one GPU, under way or done; shared with the thread that reads.
template <class T>
struct Reading {
  std::mutex mutex;
  std::condition_variable done;
  std::optional<T> answer;  // under mutex, as what follows
  bool late = false;        // somebody has waited for it in vain

  bool IsDone() {
    std::lock_guard lock(mutex);
    return answer.has_value();
  }
  void Finish(T read) {
    std::lock_guard lock(mutex);
    answer = std::move(read);
    done.notify_all();
  }
  // Nothing when it has not come until then.
  std::optional<T> Await(std::chrono::steady_clock::time_point limit) {
    std::unique_lock lock(mutex);
    if (!late) late = !done.wait_until(lock, limit, [this] { return answer.has_value(); });
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
  struct Rest {
    std::mutex mutex;
    std::condition_variable done;
    std::deque<std::function<void()>> tasks;  // not begun; under mutex, as what follows
    size_t unfinished = 0;
  };

  void GoOn();

  os::Workers& workers_;
  const std::shared_ptr<Rest> rest_ = std::make_shared<Rest>();
};

}  // namespace tessera::nvidia
