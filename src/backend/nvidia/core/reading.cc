// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/core/reading.h"

namespace tessera::nvidia {

void SerialQueue::Add(std::function<void()> task) {
  const MutexLock lock(rest_->mutex);
  rest_->tasks.push_back(std::move(task));
  ++rest_->unfinished;
}

void SerialQueue::Run(std::chrono::steady_clock::time_point limit) {
  workers_.GoOn();  // tasks that an earlier queue could not start
  MutexLock lock(rest_->mutex);
  if (rest_->unfinished == 0) return;
  RunQueued();
  size_t left = rest_->tasks.size();
  const auto is_over = [this]() TESSERA_REQUIRES(rest_->mutex) { return rest_->unfinished == 0; };
  while (!rest_->done.wait_for(lock, kTurn, is_over)) {
    // No task was started in this turn: the current one takes too long.
    const bool stuck = rest_->tasks.size() == left;
    if ((stuck && left == 0) || std::chrono::steady_clock::now() >= limit) return;
    if (stuck) RunQueued();
    left = rest_->tasks.size();
  }
}

// Starts one more thread for the tasks that are not begun.
void SerialQueue::RunQueued() {
  workers_.Run([rest = rest_] {
    MutexLock lock(rest->mutex);
    while (!rest->tasks.empty()) {
      const std::function<void()> task = std::move(rest->tasks.front());
      rest->tasks.pop_front();
      lock.unlock();
      task();
      lock.lock();
      if (--rest->unfinished == 0) rest->done.notify_all();
    }
  });
}

}  // namespace tessera::nvidia
