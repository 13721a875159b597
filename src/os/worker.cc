// SPDX-License-Identifier: Apache-2.0
#include "os/worker.h"

#include <atomic>
#include <deque>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"
#include "os/thread.h"

namespace tessera::os {
namespace {
// Idle threads end after this. It exceeds a minute, so that work done once a minute finds its
// thread; a new thread costs more than an idle one.
constexpr Duration kIdle{65'000};
}  // namespace

struct Workers::State {
  explicit State(int limit_) : limit(limit_) {}
  const int limit;
  Mutex mutex;
  ConditionVariable work;   // a task arrived, or the pool stops
  ConditionVariable ended;  // a thread ended
  std::deque<std::function<void()>> tasks TESSERA_GUARDED_BY(mutex);
  int threads TESSERA_GUARDED_BY(mutex) = 0;
  int idle TESSERA_GUARDED_BY(mutex) = 0;
  bool stopping TESSERA_GUARDED_BY(mutex) = false;
  // The last task found no new thread.
  bool short_of_threads TESSERA_GUARDED_BY(mutex) = false;
};

namespace {

void Post(const std::shared_ptr<Workers::State>& state, std::function<void()> task);
// The body of a thread. It shares the state, so it may outlive Workers if its task hangs.
void Work(const std::shared_ptr<Workers::State>& state);
// Starts a thread if there are more tasks than idle threads.
Status Grow(const std::shared_ptr<Workers::State>& state) TESSERA_REQUIRES(state->mutex);

struct Many {
  Many(size_t count_, std::function<void(size_t)> one_, std::function<void()> then_)
      : count(count_), one(std::move(one_)), then(std::move(then_)), left(count_) {}
  const size_t count;
  const std::function<void(size_t)> one;
  const std::function<void()> then;
  std::atomic<size_t> next = 0;
  std::atomic<size_t> left;
};
void Help(const std::shared_ptr<Workers::State>& state, const std::shared_ptr<Many>& many);

}  // namespace

Workers::Workers(int limit) : state_(std::make_shared<State>(limit)) {}

Workers::~Workers() {
  std::deque<std::function<void()>> dropped;  // destroyed after the lock is released
  MutexLock lock(state_->mutex);
  state_->stopping = true;
  dropped.swap(state_->tasks);
  state_->work.notify_all();
  const auto all_ended = [this]() TESSERA_REQUIRES(state_->mutex) { return state_->threads == 0; };
  state_->ended.wait_for(lock, kGrace, all_ended);
}

void Workers::Run(std::function<void()> task) {
  Post(state_, std::move(task));
}

void Workers::ForEach(size_t count, std::function<void(size_t)> one, std::function<void()> then) {
  if (count == 0) return then();
  Help(state_, std::make_shared<Many>(count, std::move(one), std::move(then)));
}

void Workers::GoOn() {
  const MutexLock lock(state_->mutex);
  (void)Grow(state_);
}

namespace {

void Post(const std::shared_ptr<Workers::State>& state, std::function<void()> task) {
  MutexLock lock(state->mutex);
  if (state->stopping) return;
  state->tasks.push_back(std::move(task));
  const Status grown = Grow(state);
  const bool told = std::exchange(state->short_of_threads, !grown);
  lock.unlock();  // otherwise the woken thread would block on the lock
  state->work.notify_one();
  if (!grown && !told) log::Warn("a task waits for another thread to be free", grown.error());
}

void Help(const std::shared_ptr<Workers::State>& state, const std::shared_ptr<Many>& many) {
  bool helped = false;
  for (size_t i = many->next++; i < many->count; i = many->next++) {
    const bool more = i + 1 < many->count;
    if (more && !std::exchange(helped, true)) Post(state, [state, many] { Help(state, many); });
    many->one(i);
    if (--many->left == 0) many->then();
  }
}

void Work(const std::shared_ptr<Workers::State>& state) {
  MutexLock lock(state->mutex);
  const auto ready = [&]() TESSERA_REQUIRES(state->mutex) {
    return state->stopping || !state->tasks.empty();
  };
  for (;;) {
    ++state->idle;
    bool woken = true;
    if (state->idle == 1) {  // keep the last idle thread: the process may not get another
      state->work.wait(lock, ready);
    } else {
      woken = state->work.wait_for(lock, kIdle, ready);
    }
    --state->idle;
    if (state->stopping) break;
    // The other idle threads took tasks during the wait, so this one is the last idle thread and
    // stays.
    if (!woken && state->idle == 0) continue;
    if (!woken) break;
    auto task = std::move(state->tasks.front());
    state->tasks.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // destroys its captures before the lock is taken
    lock.lock();
  }
  --state->threads;
  state->ended.notify_all();
}

Status Grow(const std::shared_ptr<Workers::State>& state) {
  const bool enough = state->idle >= static_cast<int>(state->tasks.size());
  if (enough || state->threads >= state->limit) return {};
  Status begun = StartThread([state] { Work(state); });
  if (begun) ++state->threads;
  return begun;
}

}  // namespace

}  // namespace tessera::os
