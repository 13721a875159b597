// SPDX-License-Identifier: Apache-2.0
// For tests of what ends a call that waits. Header-only, so that nothing of it is in the product.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "os/files.h"

namespace tessera::os {

// A call on a thread of its own. Once this is constructed the call waits for something: its thread
// sleeps, or has ended.
class WaitingCall {
 public:
  explicit WaitingCall(std::function<void()> call)
      : thread_([this, call = std::move(call)] {
          id_ = gettid();
          call();
        }) {
    while (id_ == 0) sched_yield();
    const std::string stat = "/proc/self/task/" + std::to_string(id_) + "/stat";
    for (;;) {
      const std::string text = ReadFile(stat).value_or("");
      const size_t name_end = text.rfind(") ");
      if (name_end == std::string::npos || text[name_end + 2] == 'S') return;
      sched_yield();
    }
  }
  ~WaitingCall() { Join(); }
  WaitingCall(const WaitingCall&) = delete;
  WaitingCall& operator=(const WaitingCall&) = delete;

  void Join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<pid_t> id_{0};
  std::thread thread_;
};

}  // namespace tessera::os
