// SPDX-License-Identifier: Apache-2.0
// Exchanges for a caller that may wait: each runs a loop of its own until the answer is there, or
// `timeout` is over. Any thread.
//
// Errors are Remote's (remote.h).
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "http/http.h"

namespace tessera::http {

// One exchange over a unix socket. An Error means that none took place; whatever the server
// answered, up to 64 MiB, is a Response.
Result<Response> ExchangeUnix(const std::string& socket_path, const Request& request,
                              Duration timeout);
// The same with a status of 400 and above as an Error (FailureIn).
Result<Response> CallUnix(const std::string& socket_path, const Request& request, Duration timeout);
// The same over TCP without TLS, to an IPv4 address and port: "127.0.0.1:9440".
Result<Response> CallTcp(const std::string& address, const Request& request, Duration timeout);

}  // namespace tessera::http
