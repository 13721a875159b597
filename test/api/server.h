// SPDX-License-Identifier: Apache-2.0
// A server on 127.0.0.1 that answers as the test says, down to the byte: half, never, or garbage as
// well. One thread: the loop's.
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

// What a client asked.
struct Asked {
  std::string method{};
  std::string target{};
  std::map<std::string, std::string> headers{};  // names in small letters
  std::string body{};
};

// A whole answer, a head that promises a body in chunks, one chunk, and the end of them.
std::string Answer(int status, const std::string& body, const std::string& headers = "");
std::string ChunkedHead();
std::string Chunk(const std::string& text);
inline constexpr char kLastChunk[] = "0\r\n\r\n";

// A connection that came in. Lives as long as the server.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual void Send(const std::string& bytes) = 0;
  virtual void HangUp() = 0;  // once all is written
  virtual bool gone() const = 0;
};

// Runs the loop until `done` or the end of `patience`; whether it is done.
bool RunUntil(os::Loop& loop, Duration patience, const std::function<bool()>& done);

struct ServerTls {
  std::string certificate{};
  std::string key{};
  std::string client_ca{};  // empty: clients need no certificate
};

class Server {
 public:
  using Handler = std::function<void(const Asked&, Peer&)>;
  // Plain where `tls` has no certificate.
  Server(os::Loop& loop, Handler handler, const ServerTls& tls = {});
  ~Server();
  int port() const;
  // Connections that came in so far.
  size_t connections() const;
  // Ends all connections, now.
  void HangUp();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::fake
