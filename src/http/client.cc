// SPDX-License-Identifier: Apache-2.0
// libevent's own client cannot use a unix socket, so this is a small one: connect, write, read to
// the end.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/clock.h"
#include "http/http.h"
#include "http/wire.h"
#include "os/address.h"
#include "os/unix_socket.h"

namespace tessera::http {
namespace {

constexpr size_t kMaxResponse = 64U * 1024 * 1024;

Status WaitFor(const os::Fd& fd, short events, Steady deadline) {
  while (true) {
    auto left = deadline - SystemClock().Now();
    pollfd waiting{.fd = fd.get(), .events = events, .revents = 0};
    int ready = poll(&waiting, 1, static_cast<int>(std::max(left, Duration(0)).count()));
    if (ready > 0) return {};
    if (ready == 0) return Fail(Reason::kTimedOut, "no answer in time");
    if (errno != EINTR) return Fail(SystemError("cannot wait for an answer", errno));
  }
}

Status SendAll(const os::Fd& fd, std::string_view bytes, Steady deadline) {
  while (!bytes.empty()) {
    ssize_t n = send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      TRY(WaitFor(fd, POLLOUT, deadline));
    } else if (errno == EPIPE || errno == ECONNRESET) {
      return {};  // the server may have refused early: its answer says why
    } else if (errno != EINTR) {
      return Fail(SystemError("cannot send", errno));
    }
  }
  return {};
}

Result<std::string> ReceiveAll(const os::Fd& fd, Steady deadline) {
  std::string bytes;
  std::array<char, 16 * 1024> part;
  while (true) {
    TRY(WaitFor(fd, POLLIN, deadline));
    ssize_t n = recv(fd.get(), part.data(), part.size(), MSG_DONTWAIT);
    if (n == 0) return bytes;
    if (n > 0) {
      bytes.append(part.data(), static_cast<size_t>(n));
    } else if (errno == ECONNRESET) {
      return bytes;
    } else if (errno != EAGAIN && errno != EINTR) {
      return Fail(SystemError("cannot receive", errno));
    }
    if (bytes.size() > kMaxResponse) return Fail(Reason::kInvalid, "the answer is over 64 MiB");
  }
}

Result<Response> ExchangeOver(const os::Fd& fd, const Request& request, std::string_view host,
                              Steady deadline) {
  TRY(SendAll(fd, WriteRequest(request, host), deadline));
  std::string bytes = TRY(ReceiveAll(fd, deadline));
  return ParseResponse(bytes);
}

Result<Response> Successful(Response response) {
  if (response.status >= 400) return Fail(FailureIn(response));
  return response;
}

Result<os::Fd> ConnectTcp(const std::string& text, Steady deadline) {
  os::Address address = TRY(os::ParseAddress(text));
  os::Fd fd(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return Fail(SystemError("cannot make a socket", errno));
  int error = connect(fd.get(), address.get(), address.length) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    TRY_IN(WaitFor(fd, POLLOUT, deadline), text);
    socklen_t size = sizeof error;
    getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error == ECONNREFUSED) return Fail(Reason::kUnavailable, "nobody listens on {}", text);
  if (error != 0) return Fail(SystemError(fmt::format("cannot connect to {}", text), error));
  return fd;
}

}  // namespace

Result<Response> ExchangeUnix(const std::string& socket_path, const Request& request,
                              Duration timeout) {
  Steady deadline = SystemClock().Now() + timeout;
  os::Fd fd = TRY(os::ConnectUnix(socket_path, timeout));
  return ExchangeOver(fd, request, "localhost", deadline);
}

Result<Response> CallUnix(const std::string& socket_path, const Request& request,
                          Duration timeout) {
  return Successful(TRY(ExchangeUnix(socket_path, request, timeout)));
}

Result<Response> CallTcp(const std::string& address, const Request& request, Duration timeout) {
  Steady deadline = SystemClock().Now() + timeout;
  os::Fd fd = TRY(ConnectTcp(address, deadline));
  return Successful(TRY(ExchangeOver(fd, request, address, deadline)));
}

}  // namespace tessera::http
