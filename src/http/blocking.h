// SPDX-License-Identifier: Apache-2.0
// HTTP exchanges for a caller that may block. Each runs its own loop until the answer or `timeout`.
// Any thread.
//
// Errors are Remote's (remote.h).
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "http/http.h"

namespace tessera::http {

// One exchange over a unix socket. An Error means that no answer came. Any answer, up to 64 MiB, is
// a Response.
Result<Response> ExchangeUnix(const std::string& socket_path, const Request& request,
                              Duration timeout);
// As ExchangeUnix, but a status of 400 and above is an Error (FailureIn).
Result<Response> CallUnix(const std::string& socket_path, const Request& request, Duration timeout);
// As CallUnix, over TCP without TLS, to an IPv4 address and port: "127.0.0.1:9440".
Result<Response> CallTcp(const std::string& address, const Request& request, Duration timeout);

}  // namespace tessera::http
