// SPDX-License-Identifier: Apache-2.0
// An asynchronous HTTP/1.1 client for one server, with or without TLS. No call blocks. An idle
// connection serves the next call; a followed call has its own connection.
// One thread: the loop's. The process must ignore SIGPIPE.
//
// Errors name the place and the cause: "10.96.0.1:443: connection refused". A time limit gives
// kTimedOut. Bad certificates, a bad call, or a bad TLS library (tls.h) give kInvalid. A missing
// TLS library or unix socket gives kNotFound. All other failures are kUnavailable. Unix socket
// errors are those of os::ConnectUnix. Any answer of the server is a Reply.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "os/loop.h"

namespace tessera::http {

// A server's address, and the credentials of both sides. PEM texts.
struct Endpoint {
  // A unix socket's path, instead of host and port. No TLS.
  std::string socket{};
  std::string host{};  // name or address literal, without brackets
  int port = 443;
  bool tls = true;
  bool verify = true;
  std::string server_name{};  // name to verify in its certificate; empty: the host
  std::string ca{};           // empty: the system's CAs
  std::string certificate{};  // ours, with its chain; empty: none
  std::string key{};
  bool operator==(const Endpoint&) const = default;
};

struct Call {
  std::string method = "GET";  // GET, POST, PUT, PATCH or DELETE
  std::string target = "/";    // path and query, percent-encoded
  std::map<std::string, std::string> headers{};
  std::string body{};
  // Never sent twice. If a kept connection ends without an answer, the server may or may not have
  // read the call, so it is not repeated.
  bool once = false;
};

struct Reply {
  int status = 0;
  std::map<std::string, std::string> headers{};  // lower-case names
  std::string body{};
};

// A call in flight. Its callbacks come after the function that started it has returned. Destroying
// it cancels the callbacks; a callback may do so.
class Exchange {
 public:
  struct Impl;
  explicit Exchange(std::unique_ptr<Impl> impl);
  ~Exchange();

 private:
  std::unique_ptr<Impl> impl_;
};

// One server. It outlives its exchanges and connects at the first call.
class Remote {
 public:
  using Done = std::function<void(Result<Reply>)>;
  using Piece = std::function<void(std::string_view)>;
  // Limits of a kept body in bytes. A longer 2xx answer fails; an error answer is cut. A body
  // delivered in pieces has no limit.
  static constexpr size_t kMaxBody = 1 << 20;
  static constexpr size_t kMaxRefusal = 64 << 10;

  Remote(os::Loop& loop, Endpoint endpoint);
  ~Remote();

  // Applies to later calls, for renewed credentials.
  void Change(const Endpoint& endpoint);
  // Delivers the whole answer within `limit`. With `piece`, a 2xx body is delivered in pieces and
  // the Reply has none.
  [[nodiscard]] std::unique_ptr<Exchange> Ask(Call call, Duration limit, Done done,
                                              Piece piece = {});
  // Delivers a 2xx body in pieces: the answer starts within `limit`, and pieces are at most
  // `silence` apart. Then comes a Reply without a body. Any other answer is delivered whole.
  [[nodiscard]] std::unique_ptr<Exchange> Follow(Call call, Duration limit, Duration silence,
                                                 Piece piece, Done done);

 private:
  friend struct Exchange::Impl;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::http
