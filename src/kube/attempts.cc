// SPDX-License-Identifier: Apache-2.0
#include "kube/attempts.h"

#include <algorithm>
#include <utility>

#include "kube/wire.h"

namespace tessera::kube {
namespace {

http::Endpoint EndpointOf(const Access& access) {
  return {.host = access.host,
          .port = access.port,
          .tls = access.tls,
          .verify = access.verify,
          .server_name = access.server_name,
          .ca = access.ca.value,
          .certificate = access.certificate.value,
          .key = access.key.value};
}

}  // namespace

Attempts::Attempt::Attempt(Attempts& line, PendingCall pending, http::Remote::Done done)
    : line_(line), pending_(std::move(pending)), done_(std::move(done)) {}

Attempts::Attempt::~Attempt() {
  std::erase(line_.waiting_, this);
}

Attempts::Attempts(os::Loop& loop, Access access, const Limits& limits, AttemptObserver observer)
    : limit_(limits.attempt),
      observer_(std::move(observer)),
      credentials_(std::move(access)),
      remote_(loop, EndpointOf(credentials_.access())),
      rate_(limits.per_second, limits.burst),
      turn_(loop, [this] { StartWaiting(); }) {}

std::unique_ptr<Attempts::Attempt> Attempts::Make(PendingCall pending, http::Remote::Done done) {
  auto attempt = std::make_unique<Attempt>(*this, std::move(pending), std::move(done));
  waiting_.push_back(attempt.get());
  StartWaiting();
  return attempt;
}

Duration Attempts::Jittered(Duration pause) {
  return Duration(
      std::uniform_int_distribution<int64_t>((pause.count() + 1) / 2, pause.count())(random_));
}

void Attempts::LeaveAlone(Duration asked) {
  left_alone_ = std::max(left_alone_, SystemClock().Now() + asked);
}

Duration Attempts::LeftAlone() const {
  return std::max(left_alone_ - SystemClock().Now(), Duration(0));
}

Duration Attempts::NextPause(Backoff& pauses) {
  return LeftAlone() + Jittered(pauses.Failed());
}

void Attempts::StartWaiting() {
  while (!waiting_.empty()) {
    const Steady now = SystemClock().Now();
    if (!rate_.Allow(now)) return turn_.RingWithin(rate_.Until(now));
    Attempt* next = waiting_.front();
    waiting_.pop_front();
    StartAttempt(*next);
  }
}

void Attempts::StartAttempt(Attempt& attempt) {
  credentials_.Refresh(attempt.known_ ? Credentials::Files::kChanged : Credentials::Files::kAll);
  const Access& access = credentials_.access();
  remote_.Change(EndpointOf(access));
  http::Call call = attempt.pending_.call;
  call.target.insert(0, access.path_prefix);
  call.headers["Accept"] = "application/json";
  call.headers["User-Agent"] = "tessera";
  if (!access.token.value.empty()) call.headers["Authorization"] = "Bearer " + access.token.value;
  auto done = [this, &attempt](Result<http::Reply> reply) {
    AttemptEnded(attempt, std::move(reply));
  };
  const PendingCall& pending = attempt.pending_;
  attempt.exchange_ = pending.silence
                          ? remote_.Follow(std::move(call), limit_, *pending.silence, pending.piece,
                                           std::move(done))
                          : remote_.Ask(std::move(call), limit_, std::move(done), pending.piece);
}

void Attempts::AttemptEnded(Attempt& attempt, Result<http::Reply> reply) {
  if (observer_) observer_(attempt.pending_.verb, reply ? reply->status : 0);
  const auto asked = reply ? RetryAfter(*reply, SystemClock().WallNow()) : std::nullopt;
  if (asked) LeaveAlone(*asked);
  // The token may just have been rotated: retry once with all files read again.
  if (reply && reply->status == 401 && std::exchange(attempt.known_, false)) {
    waiting_.push_back(&attempt);
    return StartWaiting();
  }
  const http::Remote::Done done = std::move(attempt.done_);
  done(std::move(reply));  // may destroy the attempt
}

}  // namespace tessera::kube
