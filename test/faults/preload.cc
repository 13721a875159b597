// SPDX-License-Identifier: Apache-2.0
// A library that tests preload (LD_PRELOAD) into the agent as it ships. It replaces functions of
// libc: it counts calls, kills the agent in one of them, shifts its clocks, or fails its writes.
// Each function makes its system call itself, so it needs no look-up of libc's function.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "faults/preload.h"

namespace {

using tessera::faults::Call;
using tessera::faults::Control;
using tessera::faults::Refusal;

constexpr char kDescriptors[] = "/proc/self/fd/";

Control* g_control = nullptr;

// Runs before the program's own code, while the process has one thread.
__attribute__((constructor)) void FindControl() {
  const char* path = getenv(tessera::faults::kControlVariable);  // NOLINT(concurrency-mt-unsafe)
  if (path == nullptr) return;
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void* page = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (page != MAP_FAILED) g_control = static_cast<Control*>(page);
}

// Counts the call; true if the test ordered the process to die in it.
bool IsLast(Call call) {
  if (g_control == nullptr) return false;
  const uint32_t number = ++g_control->counts[static_cast<int>(call)];
  return g_control->kill_in == call && g_control->kill_at == number;
}

// Ends all threads at once; no handler runs.
void Die() {
  syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
}

void DieIfLast(Call call) {
  if (IsLast(call)) Die();
}

bool IsFile(int fd) {
  struct stat info{};
  return fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

Refusal RefusalFor(const char* path) {
  if (g_control == nullptr || strstr(path, tessera::faults::kRefusing) == nullptr) {
    return Refusal::kNothing;
  }
  return g_control->refusal;
}

// True if the test refuses changes of this name. Then errno is set.
bool RefusesName(const char* path) {
  const Refusal refusal = RefusalFor(path);
  if (refusal != Refusal::kChanges && refusal != Refusal::kNames) return false;
  errno = refusal == Refusal::kChanges ? EROFS : EACCES;
  return true;
}

// True if the test refuses writes to this open file. Then errno is set.
bool RefusesContent(int fd) {
  if (g_control == nullptr || g_control->refusal == Refusal::kNothing || !IsFile(fd)) return false;
  char link[32] = {};
  memcpy(link, kDescriptors, sizeof kDescriptors);
  char digits[16];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + fd % 10);
    fd /= 10;
  } while (fd > 0);
  for (size_t at = strlen(link); count > 0; ++at) link[at] = digits[--count];
  char path[4096] = {};
  if (syscall(SYS_readlink, link, path, sizeof path - 1) < 0) return false;
  const Refusal refusal = RefusalFor(path);
  if (refusal != Refusal::kChanges && refusal != Refusal::kWrites) return false;
  errno = refusal == Refusal::kChanges ? EROFS : ENOSPC;
  return true;
}

timespec Jumped(timespec time, std::atomic<int64_t> Control::* by) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t jump = g_control == nullptr ? 0 : (g_control->*by).load();
  const int64_t ns = time.tv_nsec + jump % kSecond + kSecond;
  time.tv_sec += jump / kSecond - 1 + ns / kSecond;
  time.tv_nsec = ns % kSecond;
  return time;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) == 0 ? 0 : va_arg(arguments, mode_t);
  va_end(arguments);
  // The agent opens some files with O_PATH first, then through /proc/self/fd (os/open.cc). Their
  // path is the link's target.
  char seen[4096] = {};
  const bool is_seen = strncmp(path, kDescriptors, sizeof kDescriptors - 1) == 0 &&
                       syscall(SYS_readlink, path, seen, sizeof seen - 1) > 0;
  const bool writes = (flags & (O_ACCMODE | O_CREAT | O_TRUNC)) != O_RDONLY;
  if (writes && RefusesName(is_seen ? seen : path)) return -1;
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int ftruncate(int fd, off_t size) noexcept {
  if (RefusesContent(fd)) return -1;
  return static_cast<int>(syscall(SYS_ftruncate, fd, size));
}

ssize_t write(int fd, const void* data, size_t size) {
  if (RefusesContent(fd)) return -1;
  if (IsLast(Call::kWrite)) {
    if (IsFile(fd)) syscall(SYS_write, fd, data, size / 2);
    Die();
  }
  return syscall(SYS_write, fd, data, size);
}

ssize_t writev(int fd, const iovec* parts, int count) {
  DieIfLast(Call::kWritev);
  return syscall(SYS_writev, fd, parts, count);
}

ssize_t pwrite(int fd, const void* data, size_t size, off_t at) {
  DieIfLast(Call::kPwrite);
  return syscall(SYS_pwrite64, fd, data, size, at);
}

ssize_t pwrite64(int fd, const void* data, size_t size, off_t at) {
  return pwrite(fd, data, size, at);
}

int rename(const char* from, const char* to) noexcept {
  DieIfLast(Call::kRename);
  if (RefusesName(to)) return -1;
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int renameat2(int from_fd, const char* from, int to_fd, const char* to, unsigned flags) noexcept {
  DieIfLast(Call::kRenameat2);
  return static_cast<int>(syscall(SYS_renameat2, from_fd, from, to_fd, to, flags));
}

int fsync(int fd) {
  DieIfLast(Call::kFsync);
  return static_cast<int>(syscall(SYS_fsync, fd));
}

int fdatasync(int fd) {
  DieIfLast(Call::kFdatasync);
  return static_cast<int>(syscall(SYS_fdatasync, fd));
}

int unlink(const char* path) noexcept {
  DieIfLast(Call::kUnlink);
  // As in the kernel: EROFS comes before the look-up of the name, and ENOENT before EACCES.
  const bool there = syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
  if ((there || RefusalFor(path) == Refusal::kChanges) && RefusesName(path)) return -1;
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int unlinkat(int fd, const char* path, int flags) noexcept {
  DieIfLast(Call::kUnlinkat);
  return static_cast<int>(syscall(SYS_unlinkat, fd, path, flags));
}

int bind(int fd, const sockaddr* address, socklen_t size) noexcept {
  DieIfLast(Call::kBind);
  return static_cast<int>(syscall(SYS_bind, fd, address, size));
}

ssize_t send(int fd, const void* data, size_t size, int flags) {
  DieIfLast(Call::kSend);
  return syscall(SYS_sendto, fd, data, size, flags, nullptr, 0);
}

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  DieIfLast(Call::kSendmsg);
  return syscall(SYS_sendmsg, fd, message, flags);
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (result == 0 && clock == CLOCK_REALTIME) *time = Jumped(*time, &Control::clock_jump_ns);
  if (result == 0 && clock == CLOCK_MONOTONIC) *time = Jumped(*time, &Control::uptime_jump_ns);
  return result;
}

int gettimeofday(timeval* time, void*) noexcept {
  timespec now{};
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  *time = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1'000};
  return result;
}

time_t time(time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
