// SPDX-License-Identifier: Apache-2.0
// HTTP for metrics, health, the status pages and the control socket. The server lives on
// the agent's loop: handlers run there and must not block.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "json/json.h"
#include "os/loop.h"

namespace tessera::http {

struct Request {
  std::string method = "GET";                // GET or POST
  std::string path = "/";                    // without the query, e.g. "/inventory"
  std::map<std::string, std::string> query;  // decoded
  std::string body;
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

using Handler = std::function<Response(const Request&)>;

struct Bounds;  // served_connections.h

// One listener. A connection brings one request, and ends with its answer. One thread: the loop's.
class Server {
 public:
  // "127.0.0.1:9440", "[::1]:0", ":9440". Whoever reaches it may ask: GET and HEAD are taken, and
  // connections are bounded.
  static Result<std::unique_ptr<Server>> ListenTcp(os::Loop& loop, const std::string& address,
                                                   Handler handler);
  static Result<std::unique_ptr<Server>> ListenTcp(os::Loop& loop, const std::string& address,
                                                   Handler handler, const Bounds& bounds);
  // For its owner alone, who may POST as well.
  static Result<std::unique_ptr<Server>> ListenUnix(os::Loop& loop, const std::string& path,
                                                    Handler handler);
  ~Server();  // closes; removes the unix socket's file
  int port() const;
  // ServedConnections that ended before they had their answer: too many, too slow, or not read.
  uint64_t dropped() const;

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::http
