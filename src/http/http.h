// SPDX-License-Identifier: Apache-2.0
// HTTP for metrics, health, the status pages, the control socket, and what a cluster's programs
// call one another by. A server lives on a loop: handlers run there and must not block.
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
  std::string path = "/";                    // without the query, e.g. "/inventory"
  std::map<std::string, std::string> query;  // decoded
  std::string body;
  // When the server answers in its handler's place. A query's timeout, such as the API server gives
  // its webhooks, brings it forward.
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
// The error such a body carries.
Error FailureIn(const Response& response);

// Answers before it returns.
using Handler = std::function<Response(const Request&)>;

// Takes an answer to its peer, from the loop's thread. The first call counts, and none where the
// peer has gone or was told 503 meanwhile: who answers need not know. Where the last copy ends
// without a call, on that thread too, the peer is told 500. Until either the request counts against
// the listener's bounds.
using Respond = std::function<void(Response)>;
// May answer later. A peer that ends its side before that is taken as gone.
using AsyncHandler = std::function<void(Request, Respond)>;
AsyncHandler AtOnce(Handler handler);

struct Identity;       // listen.h
struct ListenOptions;  // listen.h

// One listener. One thread: the loop's. Handlers outlive no server, and do not end theirs.
class Server {
 public:
  // "127.0.0.1:9440", "[::1]:0", ":9440". Whoever reaches it may ask: GET and HEAD are taken,
  // connections are bounded, and each brings one request and ends with its answer.
  static Result<std::unique_ptr<Server>> ListenTcp(os::Loop& loop, const std::string& address,
                                                   Handler handler);
  // As the options say. kInvalid where the identity is no good.
  static Result<std::unique_ptr<Server>> ListenTcp(os::Loop& loop, const std::string& address,
                                                   AsyncHandler handler,
                                                   const ListenOptions& options);
  // For its owner alone, who may POST as well.
  static Result<std::unique_ptr<Server>> ListenUnix(os::Loop& loop, const std::string& path,
                                                    Handler handler);
  ~Server();  // closes; removes the unix socket's file
  // For connections from here on. An error (kInvalid) says what is wrong, and changes nothing.
  Status Change(const Identity& identity);
  int port() const;
  // ServedConnections that ended before they had their answer: too many, too slow, or not read.
  uint64_t dropped() const;

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::http
