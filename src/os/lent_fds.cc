// SPDX-License-Identifier: Apache-2.0
#include "os/lent_fds.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <vector>

#include "base/mutex.h"

namespace tessera::os {
namespace {

// A message with an errno, or with 0 and a descriptor.
struct Message {
  explicit Message(int value) : error(value) {
    head.msg_iov = &data;
    head.msg_iovlen = 1;
  }

  int error;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  iovec data{.iov_base = &error, .iov_len = sizeof(error)};
  msghdr head{};
};

bool Send(int socket, int opened) {
  Message message(opened < 0 ? -opened : 0);
  if (opened >= 0) {
    message.head.msg_control = message.control.data();
    message.head.msg_controllen = message.control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message.head);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &opened, sizeof(opened));
  }
  return sendmsg(socket, &message.head, MSG_NOSIGNAL) == sizeof(message.error);
}

// The child holds nothing of this process, as it may outlast it: locks of files would stay taken,
// and peers would not see their sockets end. Async-signal-safe.
void KeepOnly(int socket, int most) {
  dup2(socket, 0);
#ifdef SYS_close_range
  if (syscall(SYS_close_range, 1U, UINT_MAX, 0U) == 0) return;
#endif
  for (int fd = 1; fd < most; ++fd) close(fd);
}

[[noreturn]] void OpenAll(LentOpener& opener, size_t count, int socket, pid_t parent, int most) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  KeepOnly(socket, most);
  bool sent = true;
  for (size_t number = 0; sent && number < count; ++number) sent = Send(0, opener.Open(number));
  _exit(0);
}

// Handlers of this process must not run in the child. Kept by the child until it ends.
pid_t ForkWithoutSignals() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t child = fork();
  const int error = errno;
  if (child != 0) pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return child;
}

// Adds the descriptor or error that the child sends next.
Status Receive(int socket, Steady end, std::vector<Result<Fd>>& opened) {
  while (true) {
    const Duration left = std::max(end - SystemClock().Now(), Duration(0));
    pollfd waited{.fd = socket, .events = POLLIN, .revents = 0};
    if (poll(&waited, 1, static_cast<int>(left.count())) <= 0 && left == Duration(0)) {
      return Fail(Reason::kTimedOut, "the driver does not answer in time");
    }
    Message message(0);
    message.head.msg_control = message.control.data();
    message.head.msg_controllen = message.control.size();
    const ssize_t size = recvmsg(socket, &message.head, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (size != sizeof(message.error)) {
      return Fail(Reason::kInternal, "a child process ended early");
    }
    const cmsghdr* const header = CMSG_FIRSTHDR(&message.head);
    if (header == nullptr) {
      opened.emplace_back(Fail(SystemError("cannot open it", message.error)));
    } else {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
      opened.emplace_back(Fd(fd));
    }
    return {};
  }
}

// Whether the child has ended, and is no zombie.
bool IsReaped(pid_t child) {
  const pid_t ended = waitpid(child, nullptr, WNOHANG);
  return ended == child || (ended < 0 && errno != EINTR);
}

// Children that a driver holds: they could not be killed.
class Held {
 public:
  // Whether one is still there.
  bool Any() {
    const MutexLock lock(mutex_);
    std::erase_if(children_, IsReaped);
    return !children_.empty();
  }
  void Add(pid_t child) {
    const MutexLock lock(mutex_);
    children_.push_back(child);
  }

 private:
  Mutex mutex_;
  std::vector<pid_t> children_ TESSERA_GUARDED_BY(mutex_);
};

Held& HeldChildren() {
  static auto* const held = new Held;  // workers may outlast this process's statics
  return *held;
}

// A child that has ended by itself is reaped at once.
void End(pid_t child) {
  constexpr int kTries = 100;
  kill(child, SIGKILL);
  for (int tried = 0; tried < kTries; ++tried) {
    if (IsReaped(child)) return;
    usleep(1'000);
  }
  HeldChildren().Add(child);
}

}  // namespace

Result<std::vector<Result<Fd>>> OpenInChild(LentOpener& opener, size_t count, Duration limit) {
  if (HeldChildren().Any()) {
    return Fail(Reason::kTimedOut, "the driver holds a process that asked it before");
  }
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Fail(SystemError("cannot make a socket", errno));
  }
  const Fd mine(ends[0]);
  Fd childs(ends[1]);
  rlimit most{};
  getrlimit(RLIMIT_NOFILE, &most);
  const int first_unused = static_cast<int>(std::min<rlim_t>(most.rlim_cur, INT_MAX));
  const pid_t self = getpid();
  const pid_t child = ForkWithoutSignals();
  if (child < 0) return Fail(SystemError("cannot make a process", errno));
  if (child == 0) OpenAll(opener, count, childs.get(), self, first_unused);
  childs.Reset();
  const Steady end = SystemClock().Now() + limit;
  std::vector<Result<Fd>> opened;
  Status received;
  while (received && opened.size() < count) received = Receive(mine.get(), end, opened);
  End(child);
  if (!received) return Fail(received.error());
  return opened;
}

}  // namespace tessera::os
