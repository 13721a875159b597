// SPDX-License-Identifier: Apache-2.0
#include "os/worker.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "base/log.h"
#include "os/thread.h"

namespace tessera::os {
namespace {
// A thread without work ends after this: later than it is needed by what is done once a minute, for
// another thread costs more than the nap.
constexpr Duration kIdle{65'000};
}  // namespace

struct Workers::State {
  explicit State(int limit_) : limit(limit_) {}
  const int limit;
  std::mutex mutex;
  std::condition_variable work;   // a task came, or the end
  std::condition_variable ended;  // a thread ended
  std::deque<std::function<void()>> tasks;
  int threads = 0;
  int idle = 0;
  bool stopping = false;
  bool short_of_threads = false;  // the last task came when there was none to be had
};

namespace {

// One thread's life. It holds the state itself, so it may outlive Workers when its task hangs.
void Work(const std::shared_ptr<Workers::State>& state);
Status Grow(const std::shared_ptr<Workers::State>& state);

}  // namespace

Workers::Workers(int limit) : state_(std::make_shared<State>(limit)) {}

Workers::~Workers() {
  std::deque<std::function<void()>> dropped;  // what they hold ends without the lock
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  dropped.swap(state_->tasks);
  state_->work.notify_all();
  state_->ended.wait_for(lock, kGrace, [this] { return state_->threads == 0; });
}

void Workers::Run(std::function<void()> task) {
  std::unique_lock lock(state_->mutex);
  if (state_->stopping) return;
  state_->tasks.push_back(std::move(task));
  const Status grown = Grow(state_);
  const bool told = std::exchange(state_->short_of_threads, !grown);
  lock.unlock();  // or who is woken would wait for it
  state_->work.notify_one();
  if (!grown && !told) log::Warn("a task waits for another thread to be free", grown.error());
}

void Workers::GoOn() {
  std::lock_guard lock(state_->mutex);
  (void)Grow(state_);
}

namespace {

void Work(const std::shared_ptr<Workers::State>& state) {
  std::unique_lock lock(state->mutex);
  const auto ready = [&] { return state->stopping || !state->tasks.empty(); };
  for (;;) {
    ++state->idle;
    bool woken = true;
    if (state->idle == 1) {  // the process may not get another
      state->work.wait(lock, ready);
    } else {
      woken = state->work.wait_for(lock, kIdle, ready);
    }
    --state->idle;
    if (state->stopping) break;
    if (!woken && state->idle == 0) continue;
    if (!woken) break;
    auto task = std::move(state->tasks.front());
    state->tasks.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // its captures end here, not under the lock
    lock.lock();
  }
  --state->threads;
  state->ended.notify_all();
}

// Another thread, where there are more tasks than idle ones. Under the state's mutex.
Status Grow(const std::shared_ptr<Workers::State>& state) {
  const bool enough = state->idle >= static_cast<int>(state->tasks.size());
  if (enough || state->threads >= state->limit) return {};
  Status begun = StartThread([state] { Work(state); });
  if (begun) ++state->threads;
  return begun;
}

}  // namespace

}  // namespace tessera::os
