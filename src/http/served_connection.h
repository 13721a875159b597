// SPDX-License-Identifier: Apache-2.0
// One connection of the server: one request is read, answered, and that is its end. Owned by
// ServedConnections. One thread: the loop's.
#pragma once

#include <string>

#include "base/clock.h"
#include "http/http.h"
#include "http/request.h"
#include "os/fd.h"

namespace tessera::http {

struct Patience {
  Duration request{5'000};  // from the connection to the end of the request
  Duration answer{20'000};  // from there until the peer has all of the answer
};

class ServedConnection {
 public:
  // `socket` does not block. `handler` outlives it.
  ServedConnection(os::Fd socket, const Handler& handler, Takes takes, const Patience& patience);
  // What the peer has not taken is not kept by the kernel either.
  ~ServedConnection();
  ServedConnection(const ServedConnection&) = delete;
  ServedConnection& operator=(const ServedConnection&) = delete;

  // Does what can be done without waiting. False: it has ended.
  bool GoOn();
  // What it waits for: to write, or else to read; and until when.
  bool wants_to_write() const { return stage_ == Stage::kWriting; }
  Steady deadline() const { return deadline_; }
  // It has sent all of its answer.
  bool answered() const { return stage_ == Stage::kLeaving; }
  // Bytes of its answer that wait here.
  size_t waiting() const { return head_.size() + body_.size() - sent_; }
  int socket() const { return socket_.get(); }

 private:
  enum class Stage : uint8_t { kReading, kWriting, kLeaving };
  bool Receive();
  void Answer(Reading reading);
  bool Send();
  bool Discard();

  os::Fd socket_;
  const Handler& handler_;
  const Takes takes_;
  const Patience patience_;
  Stage stage_ = Stage::kReading;
  Steady deadline_;
  std::string received_;
  std::string head_;
  std::string body_;
  size_t sent_ = 0;       // of both
  size_t discarded_ = 0;  // of what came after the request
};

}  // namespace tessera::http
