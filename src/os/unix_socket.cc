// SPDX-License-Identifier: Apache-2.0
#include "os/unix_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "os/files.h"

namespace tessera::os {
namespace {

Result<sockaddr_un> AddressOf(const std::string& path) {
  if (path.size() > kMaxSocketPath) {
    return Fail(Reason::kSocketPathTooLong, "socket path {} is {} bytes long", path, path.size());
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Error ConnectError(const std::string& path, int error) {
  if (error == ECONNREFUSED) return {Reason::kUnavailable, "no process listens on " + path};
  if (error == EAGAIN) return {Reason::kTimedOut, path + " has a full backlog"};
  return SystemError("cannot connect to " + path, error);
}

// Waits for a connect in progress. Unix sockets connect at once unless the backlog is full.
int WaitConnected(const Fd& fd, Duration timeout) {
  pollfd p{.fd = fd.get(), .events = POLLOUT, .revents = 0};
  if (poll(&p, 1, static_cast<int>(timeout.count())) <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

}  // namespace

Result<Fd> ListenUnix(const std::string& path, mode_t mode) {
  sockaddr_un address = TRY(AddressOf(path));
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return Fail(SystemError("cannot make a socket", errno));
  // Set before bind, so the file has this mode from its first moment, without a umask or chmod
  // race.
  if (fchmod(fd.get(), mode) != 0) return Fail(SystemError("cannot set mode of " + path, errno));
  // bind never follows a symbolic link and never replaces a file.
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    int error = errno;
    if (error != EADDRINUSE) return Fail(SystemError("cannot bind " + path, error));
    if (IsListening(path)) return Fail(Reason::kSocketInUse, "{} has a live listener", path);
    return Fail(Reason::kSocketPlanted, "{} exists and is not ours to replace", path);
  }
  if (listen(fd.get(), 64) != 0) return Fail(SystemError("cannot listen on " + path, errno));
  return fd;
}

Result<Fd> ConnectUnix(const std::string& path, Duration timeout) {
  sockaddr_un address = TRY(AddressOf(path));
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return Fail(SystemError("cannot make a socket", errno));
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return fd;
  int error = errno;
  if (error == EINPROGRESS) error = WaitConnected(fd, timeout);
  if (error == ETIMEDOUT) return Fail(Reason::kTimedOut, "connecting to {} timed out", path);
  if (error != 0) return Fail(ConnectError(path, error));
  return fd;
}

bool IsListening(const std::string& path) {
  auto fd = ConnectUnix(path, Duration(200));
  // A full backlog (EAGAIN) or a timeout means that a listener exists.
  return fd.has_value() || fd.error().reason == Reason::kTimedOut;
}

bool RemoveStaleSocket(const std::string& path) {
  auto info = Inspect(path);
  if (!info) return info.error().reason == Reason::kNotFound;
  if (info->type != FileInfo::Type::kSocket) return false;
  // Only "connection refused" proves that there is no listener; a permission or descriptor error
  // does not.
  auto connection = ConnectUnix(path, Duration(200));
  if (connection || connection.error().reason != Reason::kUnavailable) return false;
  return RemoveFile(path).has_value();
}

}  // namespace tessera::os
