// SPDX-License-Identifier: Apache-2.0
#include "os/descriptors.h"

#include <sys/epoll.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "os/fd.h"

namespace tessera::os {

size_t DescriptorLimit() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

size_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = std::max(before, std::min<rlim_t>(limit.rlim_max, kEnoughDescriptors));
  if (limit.rlim_cur != before) setrlimit(RLIMIT_NOFILE, &limit);
  return before;
}

bool HasDescriptorLeft() {
  const Fd one(epoll_create1(EPOLL_CLOEXEC));
  return one.valid() || (errno != EMFILE && errno != ENFILE);
}

}  // namespace tessera::os
