// SPDX-License-Identifier: Apache-2.0
// The loader finds the program's functions before libc's, for all libraries of the process. These
// are the functions that can wait among those that the limiter may import
// (limiter/libc/allowed.txt).
#include "test/waits/waits.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>

#include <atomic>
#include <cstdarg>

namespace tessera::limiter {
namespace {

std::atomic<long> waits = 0;

template <typename Signature>
Signature* Next(const char* name) {
  return reinterpret_cast<Signature*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

long Waits() {
  return waits;
}

}  // namespace tessera::limiter

using tessera::limiter::Next;
using tessera::limiter::waits;

extern "C" {

int fcntl(int file, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  if (command == F_SETLKW || command == F_OFD_SETLKW) ++waits;
  return Next<int(int, int, ...)>("fcntl")(file, command, argument);
}

long syscall(long number, ...) noexcept {
  va_list all;
  va_start(all, number);
  long words[6];
  for (long& word : words) word = va_arg(all, long);
  va_end(all);
  const long operation = words[1] & FUTEX_CMD_MASK;
  if (number == SYS_futex && (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET)) ++waits;
  return Next<long(long, ...)>("syscall")(number, words[0], words[1], words[2], words[3], words[4],
                                          words[5]);
}

int nanosleep(const timespec* time, timespec* rest) {
  ++waits;
  return Next<int(const timespec*, timespec*)>("nanosleep")(time, rest);
}

int sched_yield() noexcept {
  ++waits;
  return Next<int()>("sched_yield")();
}

}  // extern "C"
