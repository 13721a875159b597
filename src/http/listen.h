// SPDX-License-Identifier: Apache-2.0
// The settings of a listener: accepted requests and connection limits. Plain data.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace tessera::http {

inline constexpr size_t kMaxHeader = size_t{8} * 1024;
inline constexpr size_t kMaxBody = size_t{1024} * 1024;

// Accepted requests: GET and HEAD without bodies, and these.
struct Takes {
  bool posts = false;
  std::string_view no_posts = "only GET and HEAD are accepted";  // answer to a refused POST
  size_t header = kMaxHeader;  // bytes of request line and headers
  size_t body = kMaxBody;      // bytes of a POST's body
  bool chunks = false;         // chunked bodies
  size_t requests = 1;         // requests on a connection, which then ends

  static const Takes kQuestions;
  static const Takes kOrders;
};
inline constexpr Takes Takes::kQuestions{.no_posts =
                                             "orders are accepted on the control socket only"};
inline constexpr Takes Takes::kOrders{.posts = true};

struct Timeouts {
  // From a request's first byte to its end. The first request counts from the connection.
  Duration request{5'000};
  Duration handler{20'000};  // from the request's end to the handler's answer
  Duration answer{20'000};   // from then until the peer has the whole answer
  // Between requests. Go clients keep idle connections for 90 s; a server that closes earlier may
  // do so just as a request arrives.
  Duration idle{120'000};
};

struct ConnectionLimits {
  size_t all = 64;          // connections; also requests in handlers
  size_t of_peer = 8;       // from another machine or pod
  size_t of_loopback = 32;  // from this machine, by any loopback address
  // Bytes of requests that are being received or wait for an answer.
  size_t received = size_t{4} << 20U;
  // Bytes of unsent answers, not counting the newest.
  size_t waiting = size_t{4} << 20U;
  Timeouts timeouts{};
};

// A server's certificate and key. PEM texts.
struct Identity {
  std::string certificate{};  // with its chain
  std::string key{};
};

struct ListenOptions {
  Takes takes{};
  ConnectionLimits bounds{};
  std::optional<Identity> identity{};  // nothing: no TLS
};

}  // namespace tessera::http
