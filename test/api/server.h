// SPDX-License-Identifier: Apache-2.0
// A fake HTTP server on 127.0.0.1. The test chooses every byte of an answer, so it can also send
// half of one, garbage or nothing. The test owns it. One thread: the loop's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "os/loop.h"

namespace tessera::fake {

// One request, whole.
struct Asked {
  std::string method{};
  std::string target{};
  std::map<std::string, std::string> headers{};  // names in lower case
  std::string body{};
};

// A whole answer, with its Content-Length. `headers`: further lines, each ending in CRLF.
std::string Answer(int status, const std::string& body, const std::string& headers = "");
// A chunked answer: ChunkedHead(), then any number of Chunk(), then kLastChunk.
std::string ChunkedHead();
std::string Chunk(const std::string& text);
inline constexpr char kLastChunk[] = "0\r\n\r\n";

// A client's connection. The server owns it, and keeps it after the client has gone.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual void Send(const std::string& bytes) = 0;
  virtual void HangUp() = 0;  // closes once all bytes are written
  virtual bool gone() const = 0;
};

// Runs the loop until `done` or for `patience`. Returns whether it is done.
bool RunUntil(os::Loop& loop, Duration patience, const std::function<bool()>& done);

// PEM texts.
struct ServerTls {
  std::string certificate{};
  std::string key{};
  std::string client_ca{};  // empty: clients need no certificate
};

class Server {
 public:
  using Handler = std::function<void(const Asked&, Peer&)>;
  // Calls `handler` for each request. Speaks plain HTTP if `tls` has no certificate.
  Server(os::Loop& loop, Handler handler, const ServerTls& tls = {});
  ~Server();
  int port() const;
  // The number of connections accepted so far, closed ones too.
  size_t connections() const;
  // Closes all connections at once; unwritten bytes are lost.
  void HangUp();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::fake
