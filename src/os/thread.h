// SPDX-License-Identifier: Apache-2.0
// Detached threads. A thread must own or share everything that it uses.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"

namespace tessera::os {

// kIo if the process may have no more threads (a limit of its cgroup or user).
Status StartThread(std::function<void()> run);

// Runs the task on its own thread and returns its result. Nothing if it takes longer than `limit`
// or there is no thread. A late task keeps running, so it must own or share everything that it
// uses.
template <class T>
std::optional<T> Within(Duration limit, std::function<T()> task) {
  struct Shared {
    Mutex mutex;
    ConditionVariable done;
    std::optional<T> result TESSERA_GUARDED_BY(mutex);
  };
  const auto shared = std::make_shared<Shared>();
  const Status begun = StartThread([shared, task = std::move(task)] {
    T result = task();
    const MutexLock lock(shared->mutex);
    shared->result.emplace(std::move(result));
    shared->done.notify_all();
  });
  if (!begun) return std::nullopt;
  MutexLock lock(shared->mutex);
  const auto is_done = [&]() TESSERA_REQUIRES(shared->mutex) { return shared->result.has_value(); };
  shared->done.wait_for(lock, limit, is_done);
  return std::move(shared->result);
}

// Calls `run` with parts of the numbers below `count`, several at once and each number in one part.
// Returns once all have ended. Less than `enough` numbers, or all where no thread can be started,
// are one part. A thread's start takes as long as 64 short files.
inline constexpr size_t kEnoughFiles = 64;
void InParts(size_t count, const std::function<void(size_t begin, size_t end)>& run,
             size_t enough = kEnoughFiles);

// Starts a thread at most once. One thread.
class ThreadOnce {
 public:
  // If no thread can be started, the log names the `missed` work, and the next Start tries again.
  void Start(std::function<void()> run, std::string_view missed);

 private:
  bool started_ = false;
};

}  // namespace tessera::os
