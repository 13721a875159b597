// SPDX-License-Identifier: Apache-2.0
#include "http/served_connection.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <utility>

namespace tessera::http {
namespace {

// Whoever is refused may be in the middle of a body, and reads the answer after that.
constexpr size_t kMostDiscarded = size_t{2} * kMaxBody;

bool MustWait() {
  return errno == EAGAIN || errno == EWOULDBLOCK;
}

}  // namespace

ServedConnection::ServedConnection(os::Fd socket, const Handler& handler, Takes takes,
                                   const Patience& patience)
    : socket_(std::move(socket)),
      handler_(handler),
      takes_(takes),
      patience_(patience),
      deadline_(SystemClock().Now() + patience.request) {}

ServedConnection::~ServedConnection() {
  // The end of the stream counts as a byte until the peer has it.
  int unsent = 0;
  if (ioctl(socket_.get(), SIOCOUTQ, &unsent) != 0 || unsent <= 1) return;
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

bool ServedConnection::GoOn() {
  if (stage_ == Stage::kReading && !Receive()) return false;
  if (stage_ == Stage::kWriting && !Send()) return false;
  return stage_ != Stage::kLeaving || Discard();
}

bool ServedConnection::Receive() {
  std::array<char, 4096> part;
  while (stage_ == Stage::kReading) {
    const ssize_t n = recv(socket_.get(), part.data(), part.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return MustWait();
    if (n == 0) return false;
    received_.append(part.data(), static_cast<size_t>(n));
    if (auto reading = ReadRequest(received_, takes_)) Answer(*std::move(reading));
  }
  return true;
}

void ServedConnection::Answer(Reading reading) {
  std::string().swap(received_);
  const auto* asked = std::get_if<Asked>(&reading);
  const bool head = asked != nullptr && asked->head;
  Response response =
      asked != nullptr ? handler_(asked->request) : std::get<Response>(std::move(reading));
  head_ = HeadOf(response, takes_);
  if (!head) body_ = std::move(response.body);
  stage_ = Stage::kWriting;
  deadline_ = SystemClock().Now() + patience_.answer;
}

bool ServedConnection::Send() {
  while (waiting() > 0) {
    std::array<iovec, 2> parts{};
    const size_t of_head = std::min(sent_, head_.size());
    const size_t of_body = sent_ - of_head;
    parts[0] = {.iov_base = head_.data() + of_head, .iov_len = head_.size() - of_head};
    parts[1] = {.iov_base = body_.data() + of_body, .iov_len = body_.size() - of_body};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t n = sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return MustWait();
    sent_ += static_cast<size_t>(n);
  }
  sent_ = 0;
  std::string().swap(head_);
  std::string().swap(body_);
  shutdown(socket_.get(), SHUT_WR);
  stage_ = Stage::kLeaving;
  return true;
}

// To close now would take the answer away from a peer that still sends, and leave what it has not
// taken to the kernel, where nobody counts it. So the peer ends the connection.
bool ServedConnection::Discard() {
  std::array<char, 16 * 1024> part;
  while (discarded_ <= kMostDiscarded) {
    const ssize_t n = recv(socket_.get(), part.data(), part.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return MustWait();
    if (n == 0) return false;
    discarded_ += static_cast<size_t>(n);
  }
  return false;
}

}  // namespace tessera::http
