// SPDX-License-Identifier: Apache-2.0
// How the server reads a connection's requests, as they come. Pure; one thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "http/chunks.h"
#include "http/http.h"
#include "http/listen.h"

namespace tessera::http {

struct ParsedRequest {
  Request request;
  bool head = false;   // the answer's headers alone are wanted
  bool keeps = false;  // the peer may ask more on this connection
};
// A request, or the answer of one that is refused.
using Reading = std::variant<ParsedRequest, Response>;

class RequestReader {
 public:
  // `takes` outlives it.
  explicit RequestReader(const Takes& takes) : takes_(&takes) {}

  // Takes the next bytes. Nothing while more of the request has to come. What is refused is refused
  // as soon as that is known: whatever was announced need not be waited for, and nothing may be
  // added after it. Behind a request the next one begins, of which bytes may be here already.
  std::optional<Reading> Add(std::string_view bytes);
  // Bytes that are here.
  size_t size() const { return received_.size() + body_.size(); }
  // Of a request, something has come.
  bool begun() const { return head_ || size() > 0; }

 private:
  struct Head {
    std::string method;
    std::string target;
    bool keeps = false;
    size_t length = 0;                  // of the body
    std::optional<ChunkReader> chunks;  // that it is in
  };
  std::optional<Response> ReadHead();
  std::optional<Response> ReadBody();
  Reading TakeRequest();

  const Takes* takes_;
  std::string received_;  // and not read yet
  std::optional<Head> head_;
  std::string body_;
  bool whole_ = false;
};

// The status line and the headers of an answer, after which the connection ends unless it is kept.
std::string HeadOf(const Response& response, const Takes& takes, bool keep);

// `target` as it stands in the request's first line. The query's values are decoded; of two with
// one name the last counts. kInvalid when it is no target, or its query is not made of names with
// values, or has a zero in it.
Result<Request> ReadTarget(std::string_view method, const std::string& target, std::string body);

}  // namespace tessera::http
