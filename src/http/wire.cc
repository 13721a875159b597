// SPDX-License-Identifier: Apache-2.0
#include "http/wire.h"

#include <strings.h>

#include <charconv>
#include <optional>

#include "base/text.h"

namespace tessera::http {
namespace {

bool SameName(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::optional<size_t> ParseNumber(std::string_view text) {
  size_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

// Takes the text up to the next line end off `rest`; nothing when there is no line end.
std::optional<std::string_view> TakeLine(std::string_view& rest) {
  size_t end = rest.find('\n');
  if (end == rest.npos) return {};
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// "HTTP/1.1 200 OK" -> 200.
Result<int> ParseStatus(std::string_view line) {
  bool http = line.starts_with("HTTP/1.") && line.size() >= 12 && line[8] == ' ' &&
              (line.size() == 12 || line[12] == ' ');
  auto status = http ? ParseNumber(line.substr(9, 3)) : std::nullopt;
  if (!status || *status < 100) return Fail(Reason::kInvalid, "the answer is not HTTP");
  return static_cast<int>(*status);
}

struct Headers {
  std::string content_type;
  std::optional<size_t> length;
};

Status ReadHeader(std::string_view line, Headers& headers) {
  size_t colon = line.find(':');
  if (colon == line.npos || colon == 0) {
    return Fail(Reason::kInvalid, "the answer has a header line without a name");
  }
  std::string_view name = line.substr(0, colon);
  std::string_view value = Trim(line.substr(colon + 1));
  if (SameName(name, "content-type")) headers.content_type = value;
  if (SameName(name, "transfer-encoding") && !SameName(value, "identity")) {
    return Fail(Reason::kInvalid, "the answer is encoded in a way that was not asked for");
  }
  if (!SameName(name, "content-length")) return {};
  auto length = ParseNumber(value);
  if (!length || (headers.length && headers.length != length)) {
    return Fail(Reason::kInvalid, "the answer has no sensible length");
  }
  headers.length = length;
  return {};
}

}  // namespace

std::string PercentEncode(std::string_view text) {
  std::string out;
  for (char c : text) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string WriteRequest(const Request& request, std::string_view host) {
  std::string target = request.path;
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    target += fmt::format("{}{}={}", separator, PercentEncode(name), PercentEncode(value));
    separator = '&';
  }
  std::string out = fmt::format("{} {} HTTP/1.0\r\nHost: {}\r\nConnection: close\r\n",
                                request.method, target, host);
  if (request.method == "POST") {
    out += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n",
                       request.body.size());
  }
  return out + "\r\n" + request.body;
}

Result<Response> ParseResponse(std::string_view bytes) {
  auto first = TakeLine(bytes);
  if (!first) return Fail(Reason::kUnavailable, "the connection ended before an answer came");
  Response response;
  response.status = TRY(ParseStatus(*first));
  Headers headers;
  while (true) {
    auto line = TakeLine(bytes);
    if (!line) return Fail(Reason::kUnavailable, "the answer ended early, in its headers");
    if (line->empty()) break;
    TRY(ReadHeader(*line, headers));
  }
  if (headers.length && *headers.length > bytes.size()) {
    return Fail(Reason::kUnavailable, "the answer ended early, after {} of {} bytes", bytes.size(),
                *headers.length);
  }
  response.content_type = headers.content_type;
  response.body = bytes.substr(0, headers.length.value_or(bytes.size()));
  return response;
}

}  // namespace tessera::http
