// SPDX-License-Identifier: Apache-2.0
// Makes single attempts at the API server for calls and watches. All share one rate limit, in order
// of arrival, and the current credentials. After a 401 the token is read again, and the attempt
// waits for one more turn. All retry pauses, of calls, watches and callers, are decided here. One
// thread: the loop's.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "base/backoff.h"
#include "base/rate_limit.h"
#include "http/remote.h"
#include "kube/access.h"
#include "kube/client.h"
#include "os/alarm.h"
#include "os/loop.h"

namespace tessera::kube {

class Attempts {
 public:
  struct PendingCall {
    std::string verb;             // "get", "watch": for the observer
    http::Call call;              // without path prefix and credentials
    http::Remote::Piece piece{};  // receives a 2xx answer's body in pieces
    // For a stream: the longest gap between two pieces.
    std::optional<Duration> silence{};
  };

  // Waits for its turn, then for its answer. Destroying it cancels it.
  class Attempt {
   public:
    Attempt(Attempts& line, PendingCall pending, http::Remote::Done done);
    ~Attempt();
    bool HadItsTurn() const { return exchange_ != nullptr; }

   private:
    friend class Attempts;
    Attempts& line_;
    const PendingCall pending_;
    http::Remote::Done done_;
    std::unique_ptr<http::Exchange> exchange_;
    bool known_ = true;  // false after a 401
  };

  Attempts(os::Loop& loop, Access access, const Limits& limits, AttemptObserver observer);

  [[nodiscard]] std::unique_ptr<Attempt> Make(PendingCall pending, http::Remote::Done done);
  // A random pause between half of `pause` and all of it, so that agents which failed together do
  // not retry together.
  Duration Jittered(Duration pause);
  // Applies a pause that the server requested. Requests in answer headers are applied
  // automatically.
  void LeaveAlone(Duration asked);
  // The rest of that pause.
  Duration LeftAlone() const;
  // The next retry pause after a failure: jittered, and on top of the server's pause.
  Duration NextPause(Backoff& pauses);

 private:
  void StartWaiting();
  void StartAttempt(Attempt& attempt);
  void AttemptEnded(Attempt& attempt, Result<http::Reply> reply);

  const Duration limit_;
  const AttemptObserver observer_;
  Credentials credentials_;
  http::Remote remote_;
  RateLimit rate_;
  os::Alarm turn_;
  std::deque<Attempt*> waiting_;
  Steady left_alone_{};  // end of the server's pause
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace tessera::kube
