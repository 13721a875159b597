// SPDX-License-Identifier: Apache-2.0
#include "http/wire.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <utility>

#include "http/tls_table.h"

namespace tessera::http {
namespace {

// Interprets a result of recv or send.
Wire::Transfer OfSocket(ssize_t n, Wire::Outcome to_wait) {
  if (n > 0) return {Wire::Outcome::kMoved, static_cast<size_t>(n)};
  const bool must_wait = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  return {must_wait ? to_wait : Wire::Outcome::kEnded};
}

Wire::Transfer OfTls(int n) {
  if (n > 0) return {Wire::Outcome::kMoved, static_cast<size_t>(n)};
  if (n == kTlsMustRead) return {Wire::Outcome::kMustRead};
  return {n == kTlsMustWrite ? Wire::Outcome::kMustWrite : Wire::Outcome::kEnded};
}

template <class Call>
ssize_t Uninterrupted(const Call& call) {
  for (;;) {
    const ssize_t n = call();
    if (n >= 0 || errno != EINTR) return n;
  }
}

}  // namespace

Wire::Wire(os::Fd socket, std::optional<TlsSession> tls)
    : socket_(std::move(socket)), tls_(std::move(tls)) {}

// Resets the connection if the peer has not taken all bytes, so that the kernel does not keep them.
Wire::~Wire() {
  // The FIN counts as one byte until the peer acknowledges it.
  int unsent = 0;
  if (!socket_.valid() || ioctl(socket_.get(), SIOCOUTQ, &unsent) != 0 || unsent <= 1) return;
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

Wire::Transfer Wire::Receive(std::span<char> into) {
  if (tls_) return OfTls(tls_->Receive(into));
  return OfSocket(Uninterrupted([&] { return recv(socket_.get(), into.data(), into.size(), 0); }),
                  Outcome::kMustRead);
}

Wire::Outcome Wire::Peek() {
  if (tls_) return OfTls(tls_->Peek()).outcome;
  char first = 0;
  return OfSocket(Uninterrupted([&] { return recv(socket_.get(), &first, 1, MSG_PEEK); }),
                  Outcome::kMustRead)
      .outcome;
}

Wire::Transfer Wire::Send(std::string_view first, std::string_view then) {
  if (tls_) return OfTls(tls_->Send(first.empty() ? then : first));
  std::array<iovec, 2> parts{};
  parts[0] = {.iov_base = const_cast<char*>(first.data()), .iov_len = first.size()};
  parts[1] = {.iov_base = const_cast<char*>(then.data()), .iov_len = then.size()};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  return OfSocket(Uninterrupted([&] { return sendmsg(socket_.get(), &message, MSG_NOSIGNAL); }),
                  Outcome::kMustWrite);
}

void Wire::EndSending() {
  if (tls_) tls_->EndSending();
  shutdown(socket_.get(), SHUT_WR);
}

}  // namespace tessera::http
