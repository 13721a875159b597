// SPDX-License-Identifier: Apache-2.0
// The event loop that owns the agent's state (libevent underneath). Everything runs on the thread
// that called Run; Post and Stop alone may be called from any thread. Timers, watches and signals
// end when their handle is destroyed, on the loop's thread.
#pragma once

#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/result.h"

struct event_base;

namespace tessera::os {

class Loop {
 public:
  // A running timer, file watch or signal handler; destroying it ends it.
  class Handle {
   public:
    struct Impl;
    Handle();
    explicit Handle(std::unique_ptr<Impl> impl);
    Handle(Handle&&) noexcept;
    Handle& operator=(Handle&&) noexcept;
    ~Handle();
    explicit operator bool() const { return impl_ != nullptr; }

   private:
    std::unique_ptr<Impl> impl_;
  };

  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs `task` on the loop's thread, in the order of posting. Any thread.
  void Post(std::function<void()> task);
  // Once, after at least `delay`.
  [[nodiscard]] Handle After(Duration delay, std::function<void()> task);
  // Again and again, first after `period`.
  [[nodiscard]] Handle Every(Duration period, std::function<void()> task);
  // Whenever `fd` can be read; the caller keeps `fd` open.
  [[nodiscard]] Handle WhenReadable(int fd, std::function<void()> task);
  [[nodiscard]] Handle OnSignal(int signal, std::function<void()> task);

  // Until Stop; tasks posted before Stop have run by then.
  void Run();
  // Any thread.
  void Stop();
  // Runs on the loop's thread what is due now, without waiting.
  void RunOnce();

  // For http/, whose server lives on this loop.
  event_base* base();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::os
