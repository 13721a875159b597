// SPDX-License-Identifier: Apache-2.0
#include "os/loop.h"

#include <event2/event.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "os/fd.h"

namespace tessera::os {
namespace {

timeval ToTimeval(Duration d) {
  auto us = std::chrono::duration_cast<std::chrono::microseconds>(std::max(d, Duration(0))).count();
  return {.tv_sec = us / 1'000'000, .tv_usec = us % 1'000'000};
}

// Sends libevent's messages to our log. Its own output would block on a stuck reader.
void TakeLog(int severity, const char* text) {
  if (severity == EVENT_LOG_DEBUG) return;
  log::Warn("event loop", {{"text", text}});
}

}  // namespace

// libevent keeps a pointer to this, so its address must not change while the event is armed. The
// task is shared, since it may destroy its own handle while it runs.
struct Loop::Handle::Impl {
  Impl(event_base* base, int fd, short what, std::function<void()> task_, Steady due_ = {})
      : task(std::make_shared<std::function<void()>>(std::move(task_))),
        due(due_),
        armed(event_new(base, fd, what, &Impl::Fire, this)) {}
  ~Impl() { event_free(armed); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // libevent's cached time lags behind ours by a kernel tick and by the tasks run since the
  // wake-up. Its timers may therefore fire early by our clock; re-arm for the rest.
  static void Fire(evutil_socket_t, short, void* argument) {
    auto* self = static_cast<Impl*>(argument);
    if (const Duration left = self->due - SystemClock().Now(); left > Duration(0)) {
      return self->Arm(left);
    }
    auto running = self->task;
    (*running)();
  }

  void Arm(Duration delay) const {
    const timeval time = ToTimeval(delay);
    event_add(armed, &time);
  }

  std::shared_ptr<std::function<void()>> task;
  const Steady due;  // for a one-shot timer
  event* armed;
};

Loop::Handle::Handle() = default;
Loop::Handle::Handle(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Loop::Handle::Handle(Handle&&) noexcept = default;
Loop::Handle& Loop::Handle::operator=(Handle&&) noexcept = default;
Loop::Handle::~Handle() = default;

struct Loop::Impl {
  event_base* base = event_base_new();
  Fd wake{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  Handle wake_watch;
  std::unique_ptr<Handle::Impl> own_turn;  // runs tasks posted by the loop's own thread
  std::atomic<std::thread::id> runs_on{};
  std::atomic<bool> stopping{false};
  Mutex mutex;
  std::vector<std::function<void()>> posted TESSERA_GUARDED_BY(mutex);

  // The loop's own thread is not blocked in the kernel now, so it needs no eventfd write.
  void WakeFromHere() {
    if (runs_on.load(std::memory_order_relaxed) != std::this_thread::get_id()) return Wake();
    event_active(own_turn->armed, EV_TIMEOUT, 0);
  }

  void Wake() {
    uint64_t one = 1;
    [[maybe_unused]] ssize_t n = write(wake.get(), &one, sizeof one);
  }

  void RunPosted() {
    std::vector<std::function<void()>> tasks;
    {
      const MutexLock lock(mutex);
      tasks.swap(posted);
    }
    for (auto& task : tasks) task();
  }
};

Loop::Loop() : impl_(std::make_unique<Impl>()) {
  // Set once for all loops, which may start on several threads.
  [[maybe_unused]] static const bool logs = (event_set_log_callback(TakeLog), true);
  impl_->wake_watch = WhenReadable(impl_->wake.get(), [this] {
    uint64_t count = 0;
    [[maybe_unused]] ssize_t n = read(impl_->wake.get(), &count, sizeof count);
    impl_->RunPosted();
    if (impl_->stopping) event_base_loopbreak(impl_->base);
  });
  impl_->own_turn =
      std::make_unique<Handle::Impl>(impl_->base, -1, 0, [this] { impl_->RunPosted(); });
}

Loop::~Loop() {
  impl_->wake_watch = Handle();
  impl_->own_turn.reset();
  // Runs deferred callbacks. libevent would drop them with the connections that they hold, which
  // leaks both.
  event_base_loop(impl_->base, EVLOOP_NONBLOCK);
  event_base_free(impl_->base);
}

void Loop::Post(std::function<void()> task) {
  {
    const MutexLock lock(impl_->mutex);
    impl_->posted.push_back(std::move(task));
  }
  impl_->WakeFromHere();
}

Loop::Handle Loop::After(Duration delay, std::function<void()> task) {
  auto impl = std::make_unique<Handle::Impl>(impl_->base, -1, 0, std::move(task),
                                             SystemClock().Now() + delay);
  impl->Arm(delay);
  return Handle(std::move(impl));
}

Loop::Handle Loop::Every(Duration period, std::function<void()> task) {
  auto impl = std::make_unique<Handle::Impl>(impl_->base, -1, EV_PERSIST, std::move(task));
  impl->Arm(period);
  return Handle(std::move(impl));
}

Loop::Handle Loop::WhenReadable(int fd, std::function<void()> task) {
  auto impl =
      std::make_unique<Handle::Impl>(impl_->base, fd, EV_READ | EV_PERSIST, std::move(task));
  event_add(impl->armed, nullptr);
  return Handle(std::move(impl));
}

Loop::Handle Loop::OnSignal(int signal, std::function<void()> task) {
  auto impl =
      std::make_unique<Handle::Impl>(impl_->base, signal, EV_SIGNAL | EV_PERSIST, std::move(task));
  event_add(impl->armed, nullptr);
  return Handle(std::move(impl));
}

void Loop::Run() {
  if (impl_->stopping) {
    impl_->RunPosted();  // Stop came before Run; tasks posted before it still run
  } else {
    impl_->runs_on = std::this_thread::get_id();
    event_base_loop(impl_->base, EVLOOP_NO_EXIT_ON_EMPTY);
    impl_->runs_on = std::thread::id();
  }
  impl_->stopping = false;
}

void Loop::Stop() {
  impl_->stopping = true;
  impl_->Wake();
}

void Loop::RunOnce() {
  event_base_loop(impl_->base, EVLOOP_NONBLOCK);
}

event_base* Loop::base() {
  return impl_->base;
}

}  // namespace tessera::os
