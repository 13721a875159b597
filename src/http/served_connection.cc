// SPDX-License-Identifier: Apache-2.0
#include "http/served_connection.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace tessera::http {
namespace {

// Others have their turn in between, and their bounds are looked at.
constexpr size_t kBytesATurn = size_t{64} * 1024;
constexpr size_t kPart = size_t{16} * 1024;  // the most that TLS hands over at once

}  // namespace

ServedConnection::ServedConnection(Wire wire, const AsyncHandler& handler, const Takes& takes,
                                   const Patience& patience, std::function<void()> wake)
    : wire_(std::move(wire)),
      handler_(handler),
      takes_(takes),
      patience_(patience),
      wake_(std::move(wake)),
      deadline_(SystemClock().Now() + patience.request),
      reader_(takes) {}

ServedConnection::WaitsTo ServedConnection::waits_to() const {
  if (stage_ == Stage::kAsking && peer_talks_) return WaitsTo::kBeWoken;
  return must_write_ ? WaitsTo::kWrite : WaitsTo::kRead;
}

bool ServedConnection::ready() const {
  const bool hears = stage_ == Stage::kReading || stage_ == Stage::kLeaving;
  return hears && (has_next_ || wire_.holds_more());
}

bool ServedConnection::GoOn() {
  if (stage_ == Stage::kReading && !Receive()) return false;
  if (stage_ == Stage::kAsking && !Await()) return false;
  if (stage_ == Stage::kWriting && !Send()) return false;
  return stage_ != Stage::kLeaving || Discard();
}

bool ServedConnection::Receive() {
  std::array<char, kPart> part;
  if (std::exchange(has_next_, false)) Take(reader_.Add(""));
  for (size_t all = 0; stage_ == Stage::kReading && all < kBytesATurn;) {
    const auto [outcome, n] = wire_.Receive(part);
    if (outcome == Wire::Outcome::kEnded) return false;
    MustWait(outcome);
    if (outcome != Wire::Outcome::kMoved) return true;
    if (idle()) deadline_ = SystemClock().Now() + patience_.request;
    all += n;
    Take(reader_.Add({part.data(), n}));
  }
  return true;
}

void ServedConnection::Take(std::optional<Reading> reading) {
  if (!reading) return;
  if (auto* asked = std::get_if<Asked>(&*reading)) return Ask(std::move(*asked));
  Refuse(std::get<Response>(*std::move(reading)));
}

void ServedConnection::Ask(Asked asked) {
  stage_ = Stage::kAsking;
  deadline_ = SystemClock().Now() + patience_.handler;
  ++requests_;
  asked_ = asked.request.body.size();
  head_only_ = asked.head;
  keep_ = asked.keeps && requests_ < takes_.requests;
  peer_talks_ = false;
  if (!keep_) reader_ = RequestReader(takes_);
  pending_ = std::make_shared<Pending>();
  handler_(std::move(asked.request), [weak = std::weak_ptr(pending_)](Response response) {
    const auto pending = weak.lock();
    if (!pending || pending->response) return;
    pending->response = std::move(response);
    if (pending->wake) pending->wake();
  });
  if (!pending_->response) pending_->wake = wake_;
}

// The peer may have gone meanwhile; but if it has sent more, that is not to be seen.
bool ServedConnection::Await() {
  if (pending_->response) {
    Begin(*std::move(pending_->response));
    return true;
  }
  if (peer_talks_) return true;
  const Wire::Outcome outcome = wire_.Look();
  peer_talks_ = outcome == Wire::Outcome::kMoved;
  MustWait(outcome);
  return outcome != Wire::Outcome::kEnded;
}

void ServedConnection::Refuse(Response response) {
  keep_ = false;
  // One that was asked for by HEAD, and has no answer in time, has no body either.
  if (stage_ != Stage::kAsking) head_only_ = false;
  Begin(std::move(response));
}

void ServedConnection::Begin(Response response) {
  pending_.reset();
  asked_ = 0;
  if (!keep_) reader_ = RequestReader(takes_);
  head_ = HeadOf(response, takes_, keep_);
  if (!head_only_) body_ = std::move(response.body);
  stage_ = Stage::kWriting;
  must_write_ = true;
  deadline_ = SystemClock().Now() + patience_.answer;
}

bool ServedConnection::Send() {
  while (waiting() > 0) {
    const size_t of_head = std::min(sent_, head_.size());
    const auto [outcome, n] = wire_.Send(std::string_view(head_).substr(of_head),
                                         std::string_view(body_).substr(sent_ - of_head));
    MustWait(outcome);
    if (outcome == Wire::Outcome::kEnded) return false;
    if (outcome != Wire::Outcome::kMoved) return true;
    sent_ += n;
  }
  sent_ = 0;
  std::string().swap(head_);
  std::string().swap(body_);
  if (keep_) {
    AwaitNext();
    return true;
  }
  wire_.EndSending();
  stage_ = Stage::kLeaving;
  return true;
}

void ServedConnection::AwaitNext() {
  stage_ = Stage::kReading;
  must_write_ = false;
  has_next_ = reader_.begun();
  deadline_ = SystemClock().Now() + (has_next_ ? patience_.request : patience_.idle);
}

// To close now would take the answer away from a peer that still sends, and leave what it has not
// taken to the kernel, where nobody counts it. So the peer ends the connection. Whoever is refused
// may be in the middle of a body, and reads the answer after that.
bool ServedConnection::Discard() {
  const size_t most = 2 * std::max(kMaxBody, takes_.body);
  std::array<char, kPart> part;
  for (size_t all = 0; all < kBytesATurn && discarded_ <= most;) {
    const auto [outcome, n] = wire_.Receive(part);
    MustWait(outcome);
    if (outcome == Wire::Outcome::kEnded) return false;
    if (outcome != Wire::Outcome::kMoved) return true;
    all += n;
    discarded_ += n;
  }
  return discarded_ <= most;
}

}  // namespace tessera::http
