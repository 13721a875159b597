// SPDX-License-Identifier: Apache-2.0
// A thread that nobody waits for: it owns, or shares, all that it uses.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"

namespace tessera::os {

// kIo where the process may have no more threads (a limit of its cgroup's, or of its user's).
Status StartThread(std::function<void()> run);

// The task's result, by a thread of its own; nothing where it takes longer, or there is no thread.
// It goes on then: it owns, or shares, all that it uses.
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

// One thread of its owner's, started once. One at a time.
class ThreadOnce {
 public:
  // Where there can be no thread the log says what is `missed`, and the next Start tries again.
  void Start(std::function<void()> run, std::string_view missed);

 private:
  bool started_ = false;
};

}  // namespace tessera::os
