// SPDX-License-Identifier: Apache-2.0
// HTTP/1.0 as the client speaks it: one request, one response, the end of the stream ends it. Pure;
// any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "http/http.h"

namespace tessera::http {

// The request as bytes; `host` is the Host header's value.
std::string WriteRequest(const Request& request, std::string_view host);

// The response in everything the server sent: status line, headers, body. kInvalid when this is no
// response, kUnavailable when it ends early (the server went away in the middle of it).
Result<Response> ParseResponse(std::string_view bytes);

// Everything but letters, digits and "-._~" as %XX.
std::string PercentEncode(std::string_view text);

}  // namespace tessera::http
