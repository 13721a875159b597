// SPDX-License-Identifier: Apache-2.0
// The connections of one listener, and their limits. When the limit is reached, a new connection
// displaces one of the peer with the most connections. The victim is that peer's longest idle
// connection, or else the one whose request or answer takes longest. So a peer with few
// connections, such as a health probe, always gets in, and slow peers yield to fast ones. When too
// many bytes are arriving, incomplete requests are refused in the same order.
// Owned by the server. One thread: the loop's.
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

// The remote side. All loopback addresses are one peer, since a local process can use any of them.
struct Peer {
  std::string address;  // raw bytes; empty: this machine
};

class ServedConnections {
 public:
  ServedConnections(os::Loop& loop, AsyncHandler handler, const Takes& takes,
                    const ConnectionLimits& bounds);
  ~ServedConnections();

  void Add(Wire wire, const Peer& peer);
  // Ends a connection to free its descriptor. False if there is none.
  bool DropOne();
  // Connections that ended without their answer: too many, too slow, or not read.
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
  std::list<PeerConnection> held_;  // longest in its phase first
  uint64_t dropped_ = 0;
};

}  // namespace tessera::http
