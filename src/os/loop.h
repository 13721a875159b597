// SPDX-License-Identifier: Apache-2.0
// The event loop, on libevent. Everything runs on the thread that called Run. Only Post and Stop
// may be called from any thread. Destroying a handle, on the loop's thread, ends its timer, watch
// or signal handler.
#pragma once

#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/result.h"

struct event_base;

namespace tessera::os {

class Loop {
 public:
  // A running timer, file watch or signal handler. Destroying it ends it.
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
  // Runs `task` once, after at least `delay`.
  [[nodiscard]] Handle After(Duration delay, std::function<void()> task);
  // Runs `task` every `period`, first after one.
  [[nodiscard]] Handle Every(Duration period, std::function<void()> task);
  // Runs `task` whenever `fd` is readable. The caller keeps `fd` open.
  [[nodiscard]] Handle WhenReadable(int fd, std::function<void()> task);
  [[nodiscard]] Handle OnSignal(int signal, std::function<void()> task);

  // Runs until Stop. Tasks posted before Stop have run when it returns.
  void Run();
  // Any thread.
  void Stop();
  // Runs on the loop's thread what is due now, without blocking.
  void RunOnce();

  // For http/, which adds its own events to this loop.
  event_base* base();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::os
