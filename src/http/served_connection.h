// SPDX-License-Identifier: Apache-2.0
// One accepted connection: it reads a request, passes it to the handler, and sends the answer. Then
// it ends, unless the listener allows more requests. Owned by ServedConnections. One thread: the
// loop's.
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

// Requests that a listener's handlers have, including those with a peer that has gone or has got a
// 503.
struct AtHandlers {
  const size_t most;
  size_t requests = 0;
  size_t bytes = 0;  // of their bodies
};

class ServedConnection {
 public:
  // `handler` and `takes` outlive it. `wake` is called when a pending answer arrives; then GoOn can
  // proceed.
  ServedConnection(Wire wire, const AsyncHandler& handler, const Takes& takes,
                   const Timeouts& timeouts, std::shared_ptr<AtHandlers> at_handlers,
                   std::function<void()> wake);
  ServedConnection(const ServedConnection&) = delete;
  ServedConnection& operator=(const ServedConnection&) = delete;

  // Proceeds without blocking, up to one request and a limit of bytes. False when the connection
  // has ended.
  bool GoOn();
  // Answers instead of the handler, or before the request is complete. The connection then ends.
  void Refuse(Response response);

  enum class WaitsTo : uint8_t { kRead, kWrite, kBeWoken };
  WaitsTo waits_to() const;
  // The end of that wait.
  Steady deadline() const { return deadline_; }
  // A number that changes at the start of each phase: idle, reading, waiting for the handler,
  // answering.
  size_t phase() const { return phase_; }
  // True if it can proceed without a wait.
  bool ready() const;
  // Whether the request is still arriving, or its handler has not answered.
  bool reading() const { return stage_ == Stage::kReading; }
  bool asking() const { return stage_ == Stage::kAsking && !pending_->response; }
  // Whether it is kept open and waits for the next request. Never true if the listener takes one
  // request.
  bool idle() const { return reading() && spare_ && !reader_.begun(); }
  // Whether all of its answer was sent.
  bool answered() const { return stage_ == Stage::kLeaving || idle(); }
  // Buffered bytes of requests.
  size_t received() const { return reader_.size(); }
  // Unsent bytes of its answer.
  size_t waiting() const { return head_.size() + body_.size() - sent_; }
  int socket() const { return wire_.socket(); }

 private:
  enum class Stage : uint8_t { kReading, kAsking, kWriting, kLeaving };
  // The place for a handler's answer. It is destroyed when the connection stops waiting.
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
  bool must_write_ = false;  // false: must read. TLS may need either in both directions.

  RequestReader reader_;
  // Requests so far, including the current one.
  size_t requests_ = 0;
  bool spare_ = false;  // it may be idle
  bool head_only_ = false;
  bool keep_ = false;  // keep the connection after this answer
  // Bytes of the next request arrived with the last one.
  bool has_next_ = false;
  // The peer has sent more while its request is at the handler.
  bool peer_talks_ = false;
  std::shared_ptr<Pending> pending_;

  std::string head_;
  std::string body_;
  size_t sent_ = 0;       // bytes sent of both
  size_t discarded_ = 0;  // bytes read after the request
};

}  // namespace tessera::http
