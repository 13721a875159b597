// SPDX-License-Identifier: Apache-2.0
// For tests of what a process may do that is root and has no capability, as agents in pods.
// Header-only.
#pragma once

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <thread>

namespace tessera::os {

// On a thread that has these capabilities alone, as far as this process has them. False: this
// process is not root, so nothing was done.
inline bool RunAsRootWith(std::initializer_list<int> capabilities,
                          const std::function<void()>& task) {
  if (geteuid() != 0) return false;
  std::thread([&] {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    __user_cap_data_struct sets[2]{};
    syscall(SYS_capget, &header, sets);
    uint32_t wanted[2]{};
    for (const int capability : capabilities) wanted[capability / 32] |= 1U << (capability % 32);
    for (int i = 0; i < 2; ++i) sets[i].effective = sets[i].permitted & wanted[i];
    syscall(SYS_capset, &header, sets);
    task();
  }).join();
  return true;
}

}  // namespace tessera::os
