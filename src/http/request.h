// SPDX-License-Identifier: Apache-2.0
// Parses a connection's requests as they arrive. Pure. One thread.
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
  bool head = false;   // HEAD: the answer has no body
  bool keeps = false;  // the connection may stay open
};
// A request, or the answer that refuses it.
using Reading = std::variant<ParsedRequest, Response>;

class RequestReader {
 public:
  // `takes` outlives the reader.
  explicit RequestReader(const Takes& takes) : takes_(&takes) {}

  // Parses the next bytes. Nothing while the request is incomplete. A refusal comes as soon as its
  // cause is known, without waiting for the announced body. After a refusal, Add must not be
  // called. After a request, bytes of the next one may already be buffered.
  std::optional<Reading> Add(std::string_view bytes);
  // Buffered bytes.
  size_t size() const { return received_.size() + body_.size(); }
  // A part of a request has arrived.
  bool begun() const { return head_ || size() > 0; }

 private:
  struct Head {
    std::string method;
    std::string target;
    bool keeps = false;
    size_t length = 0;                  // of the body
    std::optional<ChunkReader> chunks;  // for a chunked body
  };
  std::optional<Response> ReadHead();
  std::optional<Response> ReadBody();
  Reading TakeRequest();

  const Takes* takes_;
  std::string received_;  // not parsed yet
  std::optional<Head> head_;
  std::string body_;
  bool whole_ = false;
};

// An answer's status line and headers. Without `keep`, the connection ends after it.
std::string HeadOf(const Response& response, const Takes& takes, bool keep);

// Parses the target of the request line. Query values are decoded; the last of equal names counts.
// The result is kInvalid for a bad target, a query without name=value form, or a NUL.
Result<Request> ReadTarget(std::string_view method, const std::string& target, std::string body);

}  // namespace tessera::http
