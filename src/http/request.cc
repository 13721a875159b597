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
#include "http/line.h"

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
  // libevent returns C strings, so a NUL would silently truncate a value.
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

// A line such as "GET /explain HTTP/1.1".
struct RequestLine {
  std::string_view method;
  std::string_view target;
  bool keeps = false;  // by the HTTP version
};
std::optional<RequestLine> ReadLine(std::string_view text) {
  const size_t first = text.find(' ');
  const size_t last = text.rfind(' ');
  if (first == text.npos || last == first || !IsPlain(text)) return std::nullopt;
  const std::string_view version = text.substr(last + 1);
  if (version != "HTTP/1.0" && version != "HTTP/1.1") return std::nullopt;
  const RequestLine line{text.substr(0, first), text.substr(first + 1, last - first - 1),
                         version != "HTTP/1.0"};
  if (line.method.empty() || line.target.find(' ') != line.target.npos) return std::nullopt;
  return line;
}

std::optional<Response> RefuseMethod(std::string_view method, const Takes& takes) {
  if (method == "GET" || method == "HEAD") return std::nullopt;
  if (method != "POST") return Refuse(405, "only GET, HEAD and POST are accepted");
  if (takes.posts) return std::nullopt;
  return Refuse(405, std::string(takes.no_posts));
}

// The headers that matter here: the body's framing, and whether the connection stays.
struct Headers {
  std::optional<size_t> length;
  std::optional<std::string_view> encoding;  // Transfer-Encoding
  bool close = false;
};

std::optional<size_t> ReadLength(std::string_view text) {
  size_t length = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, length);
  if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return length;
}

bool Names(std::string_view list, std::string_view word) {
  const auto words = Split(list, ',');
  return std::ranges::any_of(words, [&](const auto& one) { return SameName(Trim(one), word); });
}

// False if the header is malformed or ambiguous.
bool ReadHeader(std::string_view line, Headers& headers) {
  const size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  if (colon == line.npos || !IsToken(name) || !IsPlain(line)) return false;
  const std::string_view value = Trim(line.substr(colon + 1));
  if (SameName(name, "content-length")) {
    if (headers.length) return false;
    headers.length = ReadLength(value);
    return headers.length.has_value();
  }
  if (SameName(name, "transfer-encoding")) return !std::exchange(headers.encoding, value);
  if (SameName(name, "connection") && Names(value, "close")) headers.close = true;
  return true;
}

std::optional<Headers> ReadHeaders(std::string_view text) {
  Headers headers;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find(kLineEnd));
    text.remove_prefix(std::min(text.size(), line.size() + kLineEnd.size()));
    if (!ReadHeader(line, headers)) return std::nullopt;
  }
  return headers;
}

std::string SizeText(size_t bytes) {
  constexpr size_t kKi = 1024;
  if (bytes % (kKi * kKi) == 0) return fmt::format("{} MiB", bytes / kKi / kKi);
  return bytes % kKi == 0 ? fmt::format("{} KiB", bytes / kKi) : fmt::format("{} bytes", bytes);
}

Response RefuseLongBody(const Takes& takes) {
  return Refuse(413, fmt::format("the body is over {}", SizeText(takes.body)));
}

std::optional<Response> RefuseBody(const Headers& headers, std::string_view method,
                                   const Takes& takes) {
  if (headers.encoding && !takes.chunks) {
    return Refuse(411, "a chunked body is not accepted: send a Content-Length");
  }
  if (headers.encoding && !SameName(*headers.encoding, "chunked")) {
    return Refuse(501, "the only accepted Transfer-Encoding is chunked");
  }
  // Both a length and chunks: a proxy may have used the other one, which allows request smuggling.
  if (headers.encoding && headers.length)
    return Refuse(400, "a chunked body must not have a Content-Length");
  const bool none = !headers.encoding && headers.length.value_or(0) == 0;
  if (method != "POST" && !none) return Refuse(413, "only POST may have a body");
  if (headers.length.value_or(0) > takes.body) return RefuseLongBody(takes);
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
      {501, "Not Implemented"},
      {503, "Service Unavailable"}};
  const auto* found =
      std::ranges::find(kPhrases, status, [](const auto& one) { return one.first; });
  return found == std::end(kPhrases) ? "" : found->second;
}

}  // namespace

std::optional<Reading> RequestReader::Add(std::string_view bytes) {
  received_ += bytes;
  if (!head_) {
    if (auto refusal = ReadHead()) return *std::move(refusal);
  }
  if (!head_) return std::nullopt;
  if (auto refusal = ReadBody()) return *std::move(refusal);
  if (!whole_) return std::nullopt;
  return TakeRequest();
}

std::optional<Response> RequestReader::ReadHead() {
  const std::string_view all = std::string_view(received_).substr(0, takes_->header);
  const auto unended = [&]() -> std::optional<Response> {
    if (received_.size() <= takes_->header) return std::nullopt;
    return Refuse(431, fmt::format("the request's headers are over {}", SizeText(takes_->header)));
  };
  const size_t line_end = all.find(kLineEnd);
  if (line_end == all.npos) return unended();
  const auto line = ReadLine(all.substr(0, line_end));
  if (!line) return Refuse(400, "the request is not HTTP/1");
  if (auto refusal = RefuseMethod(line->method, *takes_)) return refusal;
  const size_t end = all.find(kHeadersEnd, line_end);
  if (end == all.npos) return unended();
  const size_t begin = std::min(line_end + kLineEnd.size(), end);
  const auto headers = ReadHeaders(all.substr(begin, end - begin));
  if (!headers) return Refuse(400, "the request's headers cannot be read");
  if (auto refusal = RefuseBody(*headers, line->method, *takes_)) return refusal;
  head_ = {.method = std::string(line->method),
           .target = std::string(line->target),
           .keeps = line->keeps && !headers->close,
           .length = headers->length.value_or(0),
           .chunks = std::nullopt};
  if (headers->encoding) head_->chunks.emplace(takes_->body);
  received_.erase(0, end + kHeadersEnd.size());
  return std::nullopt;
}

std::optional<Response> RequestReader::ReadBody() {
  if (!head_->chunks) {
    const size_t now = std::min(head_->length - body_.size(), received_.size());
    // Reserves the full length only once a part of the body is here, so an announced length alone
    // costs no memory.
    if (!body_.empty()) body_.reserve(head_->length);
    body_.append(received_, 0, now);
    received_.erase(0, now);
    whole_ = body_.size() == head_->length;
    return std::nullopt;
  }
  std::string_view rest = received_;
  const ChunkReader::State state = head_->chunks->Add(rest, body_);
  received_.erase(0, received_.size() - rest.size());
  whole_ = state == ChunkReader::State::kWhole;
  if (state == ChunkReader::State::kTooLong) return RefuseLongBody(*takes_);
  if (state == ChunkReader::State::kGarbled) return Refuse(400, "the body's chunks cannot be read");
  return std::nullopt;
}

Reading RequestReader::TakeRequest() {
  const Head head = *std::exchange(head_, std::nullopt);
  whole_ = false;
  if (received_.empty()) std::string().swap(received_);  // the next request may be long in coming
  // HEAD gets the same handling as GET.
  const bool headers_alone = head.method == "HEAD";
  auto request = ReadTarget(headers_alone ? "GET" : head.method, head.target,
                            std::exchange(body_, std::string()));
  if (!request) return Failure(request.error());
  return ParsedRequest{*std::move(request), headers_alone, head.keeps};
}

std::string HeadOf(const Response& response, const Takes& takes, bool keep) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, PhraseOf(response.status));
  if (response.status == 405) {
    head += takes.posts ? "Allow: GET, HEAD, POST\r\n" : "Allow: GET, HEAD\r\n";
  }
  return head + fmt::format(
                    "Content-Type: {}\r\n"
                    "Content-Length: {}\r\n"
                    "X-Content-Type-Options: nosniff\r\n"
                    "Cache-Control: no-store\r\n"
                    "{}\r\n",
                    response.content_type, response.body.size(),
                    keep ? "" : "Connection: close\r\n");
}

Result<Request> ReadTarget(std::string_view method, const std::string& target, std::string body) {
  const std::unique_ptr<evhttp_uri, FreeUri> uri(
      evhttp_uri_parse_with_flags(target.c_str(), EVHTTP_URI_NONCONFORMANT));
  if (uri == nullptr) return Fail(Reason::kInvalid, "the request has no path");
  const char* path = evhttp_uri_get_path(uri.get());
  return Request{std::string(method), path == nullptr || *path == 0 ? "/" : path,
                 TRY(ReadQuery(evhttp_uri_get_query(uri.get()))), std::move(body)};
}

}  // namespace tessera::http
