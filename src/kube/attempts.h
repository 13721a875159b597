// SPDX-License-Identifier: Apache-2.0
// Single attempts at the API server, of calls and of watches: each in its turn by one rate limit,
// with the credentials of that moment. Who is refused as unknown (401) has his token read again,
// and once more a turn. How long to wait after a failure is decided here for all: calls, watches,
// and who makes a call again. One thread: the loop's.
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
    std::string verb;                   // "get", "watch", ...: for the observer
    http::Call call;                    // without the path's prefix and what says who we are
    http::Remote::Piece piece{};        // of a good answer's body, as it comes
    std::optional<Duration> silence{};  // of a stream: how long nothing may come
  };

  // Waits for its turn, then for its answer. Destroying it ends it.
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
    bool known_ = true;  // false once the server said that it does not know who asks
  };

  Attempts(os::Loop& loop, Access access, const Limits& limits, AttemptObserver observer);

  [[nodiscard]] std::unique_ptr<Attempt> Make(PendingCall pending, http::Remote::Done done);
  // From half of it to all of it: many agents that failed together do not come back together.
  Duration Jittered(Duration pause);
  // The server asks to be left alone for so long. What it says in an answer's headers is heeded
  // already.
  void LeaveAlone(Duration asked);
  // What is left of that.
  Duration LeftAlone() const;
  // Something has failed: the next pause, jittered, which begins where that time is over.
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
  Steady left_alone_{};  // until then, as the server asked
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace tessera::kube
