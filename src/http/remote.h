// SPDX-License-Identifier: Apache-2.0
// Asking a server elsewhere over HTTP/1.1, with TLS or without: nothing here waits. A connection
// that an answer left open serves the next call; a call whose answer is followed while it grows has
// one of its own. One thread: the loop's, which may be another than the one that serves. SIGPIPE is
// ignored by the process.
//
// Errors say where and what was in the way: "10.96.0.1:443: connection refused". kTimedOut where it
// was time, kInvalid where the endpoint's certificates, the call or the file of TLS (tls.h) are no
// good, kNotFound where that file or the unix socket is missing, kUnavailable for the rest. Those
// of a unix socket are os::ConnectUnix's. Whatever the server answered is a Reply.
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

// Where a server is, and how it and we prove ourselves. PEM texts.
struct Endpoint {
  std::string socket{};  // a unix socket's path, in place of the host and port; without TLS
  std::string host{};    // a name or an address literal, without brackets
  int port = 443;
  bool tls = true;
  bool verify = true;
  std::string server_name{};  // that its certificate is checked for; empty: the host
  std::string ca{};           // empty: the system's
  std::string certificate{};  // ours, with its chain; empty: none
  std::string key{};
  bool operator==(const Endpoint&) const = default;
};

struct Call {
  std::string method = "GET";  // GET, POST, PUT, PATCH or DELETE
  std::string target = "/";    // path and query, percent-encoded
  std::map<std::string, std::string> headers{};
  std::string body{};
  // Written once at most: where a kept connection ends without an answer, nobody knows whether the
  // server has read it.
  bool once = false;
};

struct Reply {
  int status = 0;
  std::map<std::string, std::string> headers{};  // names in small letters
  std::string body{};
};

// A call under way. Its callbacks are called after the function that began it has returned.
// Destroying it ends it: nobody is called any more. The callbacks may do that themselves.
class Exchange {
 public:
  struct Impl;
  explicit Exchange(std::unique_ptr<Impl> impl);
  ~Exchange();

 private:
  std::unique_ptr<Impl> impl_;
};

// A server. Outlives its exchanges; connects when it is first asked.
class Remote {
 public:
  using Done = std::function<void(Result<Reply>)>;
  using Piece = std::function<void(std::string_view)>;
  // Bytes of an answer's body that are kept: one that is wanted whole is refused above that, and of
  // a refusal (not 2xx) there is the beginning. What is handed over in pieces has no bound.
  static constexpr size_t kMaxBody = 1 << 20;
  static constexpr size_t kMaxRefusal = 64 << 10;

  Remote(os::Loop& loop, Endpoint endpoint);
  ~Remote();

  // For calls from here on: credentials were renewed.
  void Change(const Endpoint& endpoint);
  // The whole answer, which takes `limit` at most. With `piece` the body of a good one (2xx) is
  // handed over in pieces as they come, and the Reply has none.
  [[nodiscard]] std::unique_ptr<Exchange> Ask(Call call, Duration limit, Done done,
                                              Piece piece = {});
  // The body of a good answer (2xx), which begins within `limit`, in pieces as they come, with
  // `silence` between two of them at most; then a Reply without a body. Any other answer is whole.
  [[nodiscard]] std::unique_ptr<Exchange> Follow(Call call, Duration limit, Duration silence,
                                                 Piece piece, Done done);

 private:
  friend struct Exchange::Impl;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::http
