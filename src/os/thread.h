// SPDX-License-Identifier: Apache-2.0
// A thread that nobody waits for: it owns, or shares, all that it uses.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"

namespace tessera::os {

// kIo where the process may have no more threads (a limit of its cgroup's, or of its user's).
Status StartThread(std::function<void()> run);

// One thread of its owner's, started once. One at a time.
class ThreadOnce {
 public:
  // Where there can be no thread the log says what is `missed`, and the next Start tries again.
  void Start(std::function<void()> run, std::string_view missed);

 private:
  bool started_ = false;
};

}  // namespace tessera::os
