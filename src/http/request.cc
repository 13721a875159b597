// SPDX-License-Identifier: Apache-2.0
#include "http/request.h"

#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <strings.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <utility>

#include "base/text.h"

namespace tessera::http {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadersEnd = "\r\n\r\n";

struct FreeUri {
  void operator()(evhttp_uri* uri) const { evhttp_uri_free(uri); }
};

Result<std::map<std::string, std::string>> ReadQuery(const char* text) {
  std::map<std::string, std::string> query;
  if (text == nullptr || *text == 0) return query;
  // libevent's values are C strings: a zero would silently cut one short.
  const bool zero = std::string_view(text).find("%00") != std::string_view::npos;
  evkeyvalq pairs{};
  if (zero || evhttp_parse_query_str(text, &pairs) != 0) {
    return Fail(Reason::kInvalid, "the query cannot be decoded");
  }
  for (const evkeyval* pair = pairs.tqh_first; pair != nullptr; pair = pair->next.tqe_next) {
    query[pair->key] = pair->value;
  }
  evhttp_clear_headers(&pairs);
  return query;
}

Response Refuse(int status, std::string why) {
  Response response = Failure({Reason::kInvalid, std::move(why)});
  response.status = status;
  return response;
}

bool SameName(std::string_view name, std::string_view other) {
  return name.size() == other.size() && strncasecmp(name.data(), other.data(), name.size()) == 0;
}

// "GET /explain HTTP/1.1".
struct RequestLine {
  std::string_view method;
  std::string_view target;
};
std::optional<RequestLine> ReadLine(std::string_view text) {
  const size_t first = text.find(' ');
  const size_t last = text.rfind(' ');
  if (first == text.npos || last == first || text.find('\0') != text.npos) return std::nullopt;
  if (!text.substr(last + 1).starts_with("HTTP/1.")) return std::nullopt;
  const RequestLine line{text.substr(0, first), text.substr(first + 1, last - first - 1)};
  if (line.method.empty() || line.target.find(' ') != line.target.npos) return std::nullopt;
  return line;
}

std::optional<Response> RefuseMethod(std::string_view method, Takes takes) {
  if (method == "GET" || method == "HEAD") return std::nullopt;
  if (method != "POST") return Refuse(405, "only GET, HEAD and POST are known here");
  if (takes == Takes::kOrders) return std::nullopt;
  return Refuse(405, "orders are taken on the control socket only");
}

// What the headers say of the body, the only thing that is read in them.
struct Body {
  std::optional<size_t> length;
  bool in_chunks = false;
};
std::optional<Body> ReadHeaders(std::string_view headers) {
  Body body;
  while (!headers.empty()) {
    const std::string_view line = headers.substr(0, headers.find(kLineEnd));
    headers.remove_prefix(std::min(headers.size(), line.size() + kLineEnd.size()));
    const size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon == line.npos || name.empty() || name.find_first_of(" \t") != name.npos) {
      return std::nullopt;
    }
    if (SameName(name, "transfer-encoding")) body.in_chunks = true;
    if (!SameName(name, "content-length")) continue;
    const std::string_view value = Trim(line.substr(colon + 1));
    size_t length = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
    const bool whole = error == std::errc() && end == value.data() + value.size();
    if (!whole || value.empty() || body.length) return std::nullopt;
    body.length = length;
  }
  return body;
}

std::optional<Response> RefuseBody(const Body& body, std::string_view method) {
  if (body.in_chunks) return Refuse(411, "a body in chunks is not taken: say its length");
  const size_t length = body.length.value_or(0);
  if (method != "POST" && length > 0) return Refuse(413, "a question has no body");
  if (length > kMaxBody) return Refuse(413, "the body is over 1 MiB");
  return std::nullopt;
}

std::string_view PhraseOf(int status) {
  static constexpr std::pair<int, std::string_view> kPhrases[] = {
      {200, "OK"},
      {400, "Bad Request"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {411, "Length Required"},
      {413, "Content Too Large"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {503, "Service Unavailable"}};
  const auto* found =
      std::ranges::find(kPhrases, status, [](const auto& one) { return one.first; });
  return found == std::end(kPhrases) ? "" : found->second;
}

}  // namespace

std::optional<Reading> ReadRequest(std::string_view bytes, Takes takes) {
  const auto refuse_long = [&]() -> std::optional<Reading> {
    if (bytes.size() <= kMaxHeader) return std::nullopt;
    return Refuse(431, "the request's headers are over 8 KiB");
  };
  const size_t line_end = bytes.find(kLineEnd);
  if (line_end == bytes.npos) return refuse_long();
  const auto line = ReadLine(bytes.substr(0, line_end));
  if (!line) return Refuse(400, "this is no request of HTTP/1");
  if (auto refusal = RefuseMethod(line->method, takes)) return *std::move(refusal);
  const size_t headers_end = bytes.find(kHeadersEnd, line_end);
  if (headers_end == bytes.npos) return refuse_long();
  const size_t body_at = headers_end + kHeadersEnd.size();
  if (body_at > kMaxHeader) return Refuse(431, "the request's headers are over 8 KiB");
  const size_t headers_at = std::min(line_end + kLineEnd.size(), headers_end);
  const auto body = ReadHeaders(bytes.substr(headers_at, headers_end - headers_at));
  if (!body) return Refuse(400, "the request's headers cannot be read");
  if (auto refusal = RefuseBody(*body, line->method)) return *std::move(refusal);
  const size_t length = body->length.value_or(0);
  if (bytes.size() - body_at < length) return std::nullopt;
  // A question is answered alike whether or not its answer's body is wanted.
  const bool head = line->method == "HEAD";
  auto request = ReadTarget(head ? "GET" : line->method, std::string(line->target),
                            std::string(bytes.substr(body_at, length)));
  if (!request) return Failure(request.error());
  return Asked{*std::move(request), head};
}

std::string HeadOf(const Response& response, Takes takes) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, PhraseOf(response.status));
  if (response.status == 405) {
    head += takes == Takes::kOrders ? "Allow: GET, HEAD, POST\r\n" : "Allow: GET, HEAD\r\n";
  }
  return head + fmt::format(
                    "Content-Type: {}\r\n"
                    "Content-Length: {}\r\n"
                    "X-Content-Type-Options: nosniff\r\n"
                    "Cache-Control: no-store\r\n"
                    "Connection: close\r\n\r\n",
                    response.content_type, response.body.size());
}

Result<Request> ReadTarget(std::string_view method, const std::string& target, std::string body) {
  const std::unique_ptr<evhttp_uri, FreeUri> uri(
      evhttp_uri_parse_with_flags(target.c_str(), EVHTTP_URI_NONCONFORMANT));
  if (uri == nullptr) return Fail(Reason::kInvalid, "the request asks for no page");
  const char* path = evhttp_uri_get_path(uri.get());
  return Request{std::string(method), path == nullptr || *path == 0 ? "/" : path,
                 TRY(ReadQuery(evhttp_uri_get_query(uri.get()))), std::move(body)};
}

}  // namespace tessera::http
