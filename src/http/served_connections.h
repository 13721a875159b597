// SPDX-License-Identifier: Apache-2.0
// The connections of one listener, and what bounds them. Where there are too many, one that is
// there makes room for the one that comes: of the peer that has the most, the oldest. So a peer
// that has few, such as whoever asks how the agent is, always gets in. Owned by the server. One
// thread: the loop's.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "http/served_connection.h"
#include "os/loop.h"

namespace tessera::http {

struct Bounds {
  size_t all = 64;
  size_t of_peer = 8;                 // of another machine, or another pod
  size_t of_loopback = 32;            // of this machine, by whichever of its loopback addresses
  size_t waiting = size_t{4} << 20U;  // bytes of answers that wait here, but for the newest one's
  Patience patience{};
};

// Who is at the other end. All of this machine's loopback addresses are one peer: whoever has one
// of them has them all.
struct Peer {
  std::string address;  // as bytes; empty: this machine
};

class ServedConnections {
 public:
  ServedConnections(os::Loop& loop, Handler handler, Takes takes, const Bounds& bounds);
  ~ServedConnections();

  void Add(os::Fd socket, const Peer& peer);
  // Ends one, so that its descriptor is free. False: there is none.
  bool DropOne();
  // ServedConnections that ended before they had their answer: too many, too slow, or not read.
  uint64_t dropped() const { return dropped_; }
  size_t size() const;

 private:
  struct Held;
  using At = std::list<Held>::iterator;
  static void Fire(int, short what, void* held) noexcept;
  void GoOn(At at);
  void Await(At at);
  void Drop(At at);
  void MakeRoom(const Peer& peer);
  void BoundWaiting(const Held& newest);
  At OldestOfFullest();

  os::Loop& loop_;
  const Handler handler_;
  const Takes takes_;
  const Bounds bounds_;
  std::list<Held> held_;  // the oldest first
  uint64_t dropped_ = 0;
};

}  // namespace tessera::http
