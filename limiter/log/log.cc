// SPDX-License-Identifier: Apache-2.0
#include "limiter/log/log.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "limiter/log/blocked_signals.h"
#include "limiter/log/kept_errno.h"

namespace tessera::limiter {
namespace {

constexpr size_t kLongest = 512;

// A write to a closed pipe would end the program. So SIGPIPE is blocked in this thread, and removed
// again if this write raised it.
void WriteQuietly(const char* line, size_t size) {
  constexpr uint64_t kPipe = uint64_t{1} << (SIGPIPE - 1);
  uint64_t pending = 0;
  const bool known = syscall(SYS_rt_sigpending, &pending, sizeof pending) == 0;
  const BlockedSignals blocked(kPipe);
  if (!known || !blocked.worked()) return;
  const ssize_t written = write(STDERR_FILENO, line, size);
  if (written < 0 && errno == EPIPE && (pending & kPipe) == 0) {
    constexpr timespec kNow{};
    syscall(SYS_rt_sigtimedwait, &kPipe, nullptr, &kNow, sizeof kPipe);
  }
}

// The length of the line after `added` more characters.
size_t Fitting(size_t have, int added) {
  if (added < 0) return have;
  const size_t all = have + static_cast<size_t>(added);
  return all < kLongest - 1 ? all : kLongest - 1;
}

}  // namespace

void LogLine(int asked, Level level, const char* format, ...) {
  if (!IsSaid(asked, level)) return;
  const KeptErrno kept;
  char line[kLongest];
  size_t size = Fitting(0, snprintf(line, sizeof line, "tessera-vgpu[%d]: ", getpid()));
  va_list arguments;
  va_start(arguments, format);
  size = Fitting(size, vsnprintf(line + size, sizeof line - size, format, arguments));
  va_end(arguments);
  // Paths come from the environment.
  for (size_t i = 0; i < size; ++i) {
    if (line[i] < ' ' || line[i] > '~') line[i] = '?';
  }
  line[size++] = '\n';
  WriteQuietly(line, size);
}

}  // namespace tessera::limiter
