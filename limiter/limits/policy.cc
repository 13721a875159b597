// SPDX-License-Identifier: Apache-2.0
#include "limiter/limits/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "limiter/limits/text.h"

namespace tessera::limiter {
namespace {

void Close(const char* path, const char* what, Text text, Limits* limits) {
  limits->closed = true;
  if (limits->reason[0] != '\0') return;  // that memory is denied is said already
  Explain(limits->reason, sizeof(limits->reason), path, what, text);
}

}  // namespace

bool IsOnReadOnlyMount(int file) {
  struct statfs status;
  return syscall(SYS_fstatfs, file, &status) == 0 && (status.f_flags & ST_RDONLY) != 0;
}

void ReadPolicy(const char* path, bool built, const Mounts& mounts, Limits* limits) {
  limits->closed = built;
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (file < 0) {
    const bool is_none = errno == ENOENT || errno == ENOTDIR;
    if (is_none && mounts.Of(-1, path) != MountOrigin::kOther) return;
    return Close(path, "it exists but cannot be opened, which counts as closed", {}, limits);
  }
  char buffer[32];
  const ssize_t got = read(file, buffer, sizeof(buffer));
  const bool is_fixed = IsOnReadOnlyMount(file);
  const MountOrigin giver = mounts.Of(file, path);
  close(file);
  if (giver == MountOrigin::kOther) {
    return Close(path, "it is from the pod or its image, not from the node; it counts as closed",
                 {}, limits);
  }
  const Text all(buffer, got > 0 ? static_cast<size_t>(got) : 0);
  const size_t end = all.Find('\n');
  const Text word = Trim(all.Until(end));
  const bool is_one = end + 1 >= all.size && all.size < sizeof(buffer);
  if (is_one && word == kAsBuilt) return;
  if (is_one && word == "closed") {
    limits->closed = true;
  } else if (!is_one || !(word == "open")) {
    Close(path, "counts as closed, because it is neither open nor closed:", word, limits);
  } else if (built && !is_fixed) {
    Close(path, "open counts only on a read-only mount; it counts as closed", {}, limits);
  } else {
    limits->closed = false;
  }
}

}  // namespace tessera::limiter
