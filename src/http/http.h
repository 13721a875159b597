// SPDX-License-Identifier: Apache-2.0
// HTTP for metrics, health, status pages, the control socket, and calls between a cluster's
// programs. A server lives on a loop. Handlers run there and must not block.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "json/json.h"
#include "os/loop.h"

namespace tessera::http {

struct Request {
  std::string method = "GET";                // GET or POST
  std::string path = "/";                    // without the query: "/inventory"
  std::map<std::string, std::string> query;  // decoded
  std::string body;
  // The time at which the server answers 503 in the handler's place. A `timeout` in the query, as
  // API servers send to webhooks, brings it forward.
  Steady deadline{};
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
};

Response Json(const json::Value& value, int status = 200);
Response Text(std::string text, int status = 200);
// {"error":{"code":...,"message":...,"advice":...}}; 404 for kNotFound, 503 for kUnavailable,
// 400 otherwise.
Response Failure(const Error& error);
// The error in a Failure body.
Error FailureIn(const Response& response);

// A handler that answers before it returns.
using Handler = std::function<Response(const Request&)>;

// Sends an answer to the peer, on the loop's thread. Only the first call counts. It has no effect
// if the peer has gone or has got a 503, so handlers need not check. If the last copy is destroyed
// without a call, on that thread too, the peer gets a 500. Until then the request counts against
// the listener's limits.
using Respond = std::function<void(Response)>;
// A handler that may answer later. A peer that closes its side before the answer counts as gone.
using AsyncHandler = std::function<void(Request, Respond)>;
AsyncHandler AtOnce(Handler handler);

struct Identity;       // listen.h
struct ListenOptions;  // listen.h

// One listener. One thread: the loop's. Handlers must outlive the server and must not destroy it.
class Server {
 public:
  // Listens on "127.0.0.1:9440", "[::1]:0", ":9440". Any client may ask. It accepts GET and HEAD.
  // Connections are limited, and each carries one request.
  static Result<std::unique_ptr<Server>> ListenTcp(os::Loop& loop, const std::string& address,
                                                   Handler handler);
  // As the options say. kInvalid if the identity is invalid.
  static Result<std::unique_ptr<Server>> ListenTcp(os::Loop& loop, const std::string& address,
                                                   AsyncHandler handler,
                                                   const ListenOptions& options);
  // Listens on a socket that only its owner can open. POST is allowed.
  static Result<std::unique_ptr<Server>> ListenUnix(os::Loop& loop, const std::string& path,
                                                    Handler handler);
  ~Server();  // closes; removes the unix socket's file
  // Applies to later connections. An invalid identity (kInvalid) changes nothing.
  Status Change(const Identity& identity);
  int port() const;
  // Connections that ended without their answer: too many, too slow, or not read.
  uint64_t dropped() const;

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::http
