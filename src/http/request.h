// SPDX-License-Identifier: Apache-2.0
// How the server reads a request, as much of it as has come. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "http/http.h"

namespace tessera::http {

// What a listener takes.
enum class Takes : bool {
  kQuestions,  // GET and HEAD, without bodies
  kOrders,     // POST as well, with bodies of up to kMaxBody
};

inline constexpr size_t kMaxHeader = size_t{8} * 1024;  // the request's line and its headers
inline constexpr size_t kMaxBody = size_t{1024} * 1024;

struct Asked {
  Request request;
  bool head = false;  // the answer's headers alone are wanted
};
// A request, or the answer of one that is refused.
using Reading = std::variant<Asked, Response>;

// Reads `bytes`, which begin with the request. Nothing while more of it has to come. What is
// refused is refused as soon as that is known: whatever was announced need not be waited for.
std::optional<Reading> ReadRequest(std::string_view bytes, Takes takes);

// The status line and the headers of an answer; the connection ends after it.
std::string HeadOf(const Response& response, Takes takes);

// `target` as it stands in the request's first line. The query's values are decoded; of two with
// one name the last counts. kInvalid when it is no target, or its query is not made of names with
// values, or has a zero in it.
Result<Request> ReadTarget(std::string_view method, const std::string& target, std::string body);

}  // namespace tessera::http
