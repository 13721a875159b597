// SPDX-License-Identifier: Apache-2.0
// The connections of one listener, and what bounds them. Where there are too many, one that is
// there makes room for the one that comes: of the peer that has the most, the one that has been
// idle longest, or else the one whose request or answer takes longest. So a peer that has few, such
// as whoever asks how the agent is, always gets in, and slow ones give way to who is quick. Where
// too much is being sent, requests that are still coming in are refused, in the same order. Owned
// by the server. One thread: the loop's.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "http/listen.h"
#include "http/served_connection.h"
#include "os/loop.h"

namespace tessera::http {

// Who is at the other end. All of this machine's loopback addresses are one peer: whoever has one
// of them has them all.
struct Peer {
  std::string address;  // as bytes; empty: this machine
};

class ServedConnections {
 public:
  ServedConnections(os::Loop& loop, AsyncHandler handler, const Takes& takes,
                    const ConnectionLimits& bounds);
  ~ServedConnections();

  void Add(Wire wire, const Peer& peer);
  // Ends one, so that its descriptor is free. False: there is none.
  bool DropOne();
  // ServedConnections that ended before they had their answer: too many, too slow, or not read.
  uint64_t dropped() const { return dropped_; }
  size_t size() const;

 private:
  struct PeerConnection;
  using At = std::list<PeerConnection>::iterator;
  static void Fire(int, short what, void* held) noexcept;
  bool Step(At at);
  void GoOn(At at);
  void Settle(At at);
  void Await(At at);
  void Expire(At at);
  void Drop(At at);
  void Forget(At at);
  void MakeRoom(const Peer& peer);
  void BoundReceived();
  void BoundWaiting(const PeerConnection& newest);
  At FirstOf(std::string_view peer);
  At FirstOfFullest();

  os::Loop& loop_;
  const AsyncHandler handler_;
  const Takes takes_;
  const ConnectionLimits bounds_;
  const std::shared_ptr<AtHandlers> at_handlers_;
  std::list<PeerConnection> held_;  // that has been in its phase longest first
  uint64_t dropped_ = 0;
};

}  // namespace tessera::http
