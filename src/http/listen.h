// SPDX-License-Identifier: Apache-2.0
// What a listener takes, and what bounds its connections. Plain values.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace tessera::http {

inline constexpr size_t kMaxHeader = size_t{8} * 1024;
inline constexpr size_t kMaxBody = size_t{1024} * 1024;

// What a listener takes: GET and HEAD, without bodies, and what is named here.
struct Takes {
  bool posts = false;
  std::string_view no_posts = "only GET and HEAD are taken here";  // said to who POSTs all the same
  size_t header = kMaxHeader;  // bytes of a request's line and its headers
  size_t body = kMaxBody;      // bytes of a POST's body
  bool chunks = false;         // bodies whose length is not said before
  size_t requests = 1;         // of a connection, which ends with its last answer

  static const Takes kQuestions;
  static const Takes kOrders;
};
inline constexpr Takes Takes::kQuestions{.no_posts = "orders are taken on the control socket only"};
inline constexpr Takes Takes::kOrders{.posts = true};

struct Timeouts {
  Duration request{5'000};   // from its first byte to its end; the only one's from the connection
  Duration handler{20'000};  // from there to the handler's answer
  Duration answer{20'000};   // from there until the peer has all of the answer
  // Without a request, of a connection that takes several: Go's clients keep theirs for 90 s, used
  // or not, and a server that leaves first may do so as a request comes.
  Duration idle{120'000};
};

struct ConnectionLimits {
  size_t all = 64;                     // connections; and requests that handlers have
  size_t of_peer = 8;                  // of another machine, or another pod
  size_t of_loopback = 32;             // of this machine, by whichever of its loopback addresses
  size_t received = size_t{4} << 20U;  // bytes of requests that come in or wait for an answer
  size_t waiting = size_t{4} << 20U;   // bytes of answers that wait here, but for the newest one's
  Timeouts timeouts{};
};

// The proof of who a server is. PEM texts.
struct Identity {
  std::string certificate{};  // with its chain
  std::string key{};
};

struct ListenOptions {
  Takes takes{};
  ConnectionLimits bounds{};
  std::optional<Identity> identity{};  // nothing: without TLS
};

}  // namespace tessera::http
