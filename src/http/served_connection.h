// SPDX-License-Identifier: Apache-2.0
// One connection of the server: a request is read, handed to the handler, and answered. That is its
// end, unless the listener takes several and the peer has more. Owned by ServedConnections. One
// thread: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "http/http.h"
#include "http/listen.h"
#include "http/request.h"
#include "http/wire.h"

namespace tessera::http {

// What the handlers of a listener have to answer, also where the peer has gone or was told 503.
struct AtHandlers {
  const size_t most;
  size_t requests = 0;
  size_t bytes = 0;  // of their bodies
};

class ServedConnection {
 public:
  // `handler` and `takes` outlive it. `wake` is called when an answer has come that was waited for;
  // then it can go on.
  ServedConnection(Wire wire, const AsyncHandler& handler, const Takes& takes,
                   const Timeouts& timeouts, std::shared_ptr<AtHandlers> at_handlers,
                   std::function<void()> wake);
  ServedConnection(const ServedConnection&) = delete;
  ServedConnection& operator=(const ServedConnection&) = delete;

  // Does what can be done without waiting, up to one request and a bound of bytes. False: it has
  // ended.
  bool GoOn();
  // Answers in place of its handler, or before its request has come, and is at its end.
  void Refuse(Response response);

  enum class WaitsTo : uint8_t { kRead, kWrite, kBeWoken };
  WaitsTo waits_to() const;
  // And until when.
  Steady deadline() const { return deadline_; }
  // Another one each time that it begins to be idle, to read, to have its handler answer, or to
  // answer.
  size_t phase() const { return phase_; }
  // It waits for nothing.
  bool ready() const;
  // A request is still coming in, or its handler has not answered it.
  bool reading() const { return stage_ == Stage::kReading; }
  bool asking() const { return stage_ == Stage::kAsking && !pending_->response; }
  // It stays for a request, of which nothing has come. One that takes a single request is none.
  bool idle() const { return reading() && spare_ && !reader_.begun(); }
  // It has sent all of its answer.
  bool answered() const { return stage_ == Stage::kLeaving || idle(); }
  // Bytes of requests that are here.
  size_t received() const { return reader_.size(); }
  // Bytes of its answer that wait here.
  size_t waiting() const { return head_.size() + body_.size() - sent_; }
  int socket() const { return wire_.socket(); }

 private:
  enum class Stage : uint8_t { kReading, kAsking, kWriting, kLeaving };
  // What a handler's answer comes to. There is none of it once nobody waits for that.
  struct Pending {
    std::optional<Response> response;
    std::function<void()> wake;
  };
  class Ticket;
  void BeginPhase(Duration most);
  bool Receive();
  void Take(std::optional<Reading> reading);
  void Ask(ParsedRequest asked);
  void StayIdle();
  bool Await();
  void Begin(Response response);
  bool Send();
  void AwaitNext();
  bool Discard();
  void MustWait(Wire::Outcome outcome) { must_write_ = outcome == Wire::Outcome::kMustWrite; }

  Wire wire_;
  const AsyncHandler& handler_;
  const Takes& takes_;
  const Timeouts timeouts_;
  const std::shared_ptr<AtHandlers> at_handlers_;
  const std::function<void()> wake_;
  Stage stage_ = Stage::kReading;
  Steady deadline_{};
  size_t phase_ = 0;
  bool must_write_ = false;  // else read; with TLS either may be in the way of either

  RequestReader reader_;
  size_t requests_ = 0;  // that have been answered, or are being
  bool spare_ = false;   // it may stay without a request
  bool head_only_ = false;
  bool keep_ = false;        // after this answer
  bool has_next_ = false;    // bytes of the next request came with the last one's
  bool peer_talks_ = false;  // while it is to be answered
  std::shared_ptr<Pending> pending_;

  std::string head_;
  std::string body_;
  size_t sent_ = 0;       // of both
  size_t discarded_ = 0;  // of what came after the request
};

}  // namespace tessera::http
