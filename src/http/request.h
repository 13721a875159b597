// SPDX-License-Identifier: Apache-2.0
// What the server takes out of a request that libevent has read. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "http/http.h"

namespace tessera::http {

// `path` and `query` as they stand in the request's first line; nullptr where there is none. Of the
// query the values are decoded; of two with one name the last counts. kInvalid when it is not made
// of names with values, or has a zero in it.
Result<Request> ReadRequest(std::string_view method, const char* path, const char* query,
                            std::string body);

}  // namespace tessera::http
