// SPDX-License-Identifier: Apache-2.0
// Helpers to test a root process without capabilities, such as an agent in a pod. Header-only.
#pragma once

#include <linux/capability.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <thread>

namespace tessera::os {

// Runs `task` on a thread with only these capabilities, as far as this process has them. False,
// without running it, if this process is not root.
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

// Sets an access list that denies everything to root only, as a directory's owner may. False if the
// file system has no access lists.
inline bool DenyToRoot(const std::string& path) {
  struct {
    posix_acl_xattr_header header{.a_version = POSIX_ACL_XATTR_VERSION};
    posix_acl_xattr_entry entries[5] = {{ACL_USER_OBJ, 7, 0},
                                        {ACL_USER, 0, 0},
                                        {ACL_GROUP_OBJ, 7, 0},
                                        {ACL_MASK, 7, 0},
                                        {ACL_OTHER, 7, 0}};
  } list;
  return setxattr(path.c_str(), "system.posix_acl_access", &list, sizeof list, 0) == 0;
}

}  // namespace tessera::os
