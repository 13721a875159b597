// SPDX-License-Identifier: Apache-2.0
// A library that is preloaded into the agent as it ships (LD_PRELOAD): it stands between the agent
// and libc, counts what the agent does to the world and kills it in the midst of it, or sets its
// clock. The calls go to the kernel directly, so that nothing has to be looked up in libc.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <ctime>

#include "faults/preload.h"

namespace {

using tessera::faults::Call;
using tessera::faults::Control;

Control* g_control = nullptr;

// Before anything of the program runs: it has one thread.
__attribute__((constructor)) void FindControl() {
  const char* path = getenv(tessera::faults::kControlVariable);  // NOLINT(concurrency-mt-unsafe)
  if (path == nullptr) return;
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void* page = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (page != MAP_FAILED) g_control = static_cast<Control*>(page);
}

// Counts the call; true when it is the one to die in.
bool IsLast(Call call) {
  if (g_control == nullptr) return false;
  const uint32_t number = ++g_control->counts[static_cast<int>(call)];
  return g_control->kill_in == call && g_control->kill_at == number;
}

// All threads at once, and no handler runs.
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

timespec Jumped(timespec time) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t jump = g_control == nullptr ? 0 : g_control->clock_jump_ns.load();
  const int64_t ns = time.tv_nsec + jump % kSecond + kSecond;
  time.tv_sec += jump / kSecond - 1 + ns / kSecond;
  time.tv_nsec = ns % kSecond;
  return time;
}

}  // namespace

extern "C" {

ssize_t write(int fd, const void* data, size_t size) {
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
  if (result == 0 && clock == CLOCK_REALTIME) *time = Jumped(*time);
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
