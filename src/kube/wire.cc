// SPDX-License-Identifier: Apache-2.0
#include "kube/wire.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <ctime>

#include "base/quote.h"
#include "base/text.h"

namespace tessera::kube {
namespace {

constexpr size_t kMaxWords = 1024;  // of the server's, in a message
constexpr Duration kLongestWait{3'600'000};

Duration Bounded(Duration wait) {
  return std::clamp(wait, Duration(0), kLongestWait);
}

Reason ReasonFor(int64_t status) {
  switch (status) {
    case 401:
    case 403:
      return Reason::kApiForbidden;
    case 404:
      return Reason::kNotFound;
    case 409:
      return Reason::kApiConflict;
    case 410:
      return Reason::kApiExpired;
    default:
      return Passes(static_cast<int>(status)) ? Reason::kApiBusy : Reason::kApiRejected;
  }
}

std::optional<json::Object> StatusIn(const http::Reply& reply) {
  auto body = json::Parse(reply.body);
  if (!body || !body->is_object()) return std::nullopt;
  if (json::GetString(body->as_object(), "kind") != "Status") return std::nullopt;
  return std::move(body->as_object());
}

Error Told(int64_t status, const json::Object& object) {
  const std::string words = json::GetString(object, "message").value_or("");
  if (words.empty()) {
    return {ReasonFor(status), fmt::format("the API server answered with status {}", status)};
  }
  std::string which = std::to_string(status);
  if (const auto reason = json::GetString(object, "reason")) which += " " + Brief(*reason);
  return {ReasonFor(status), fmt::format("{} ({})", ValidUtf8(words.substr(0, kMaxWords)), which)};
}

// "Sun, 06 Nov 1994 08:49:37 GMT".
std::optional<Wall> ParseDate(const std::string& text) {
  std::tm tm{};
  const char* end = strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &tm);
  if (end == nullptr || *end != '\0') return std::nullopt;
  namespace chrono = std::chrono;
  const chrono::year_month_day date{chrono::year(tm.tm_year + 1900),
                                    chrono::month(static_cast<unsigned>(tm.tm_mon) + 1),
                                    chrono::day(static_cast<unsigned>(tm.tm_mday))};
  if (!date.ok()) return std::nullopt;
  return Wall(chrono::sys_days(date)) + chrono::hours(tm.tm_hour) + chrono::minutes(tm.tm_min) +
         chrono::seconds(tm.tm_sec);
}

}  // namespace

bool Passes(int status) {
  return status == 408 || status == 429 || status >= 500;
}

std::optional<Error> ErrorIn(const http::Reply& reply) {
  if (reply.status / 100 == 2) return std::nullopt;
  return Told(reply.status, StatusIn(reply).value_or(json::Object()));
}

Error ErrorIn(const json::Object& status) {
  return Told(json::GetInt(status, "code").value_or(0), status);
}

std::string StatusReason(const http::Reply& reply) {
  const auto status = StatusIn(reply);
  return status ? json::GetString(*status, "reason").value_or("") : "";
}

std::optional<Duration> RetryAfter(const http::Reply& reply, Wall now) {
  const auto header = reply.headers.find("retry-after");
  if (header == reply.headers.end()) return std::nullopt;
  const std::string& text = header->second;
  if (const auto date = ParseDate(text)) return Bounded(*date - now);
  uint32_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return Bounded(std::chrono::seconds(seconds));
}

std::optional<Duration> RetryAfter(const json::Object& status) {
  const json::Object* details = json::GetObject(status, "details");
  const auto seconds =
      details == nullptr ? std::nullopt : json::GetInt(*details, "retryAfterSeconds");
  if (!seconds || *seconds <= 0) return std::nullopt;
  return Bounded(std::chrono::seconds(std::min<int64_t>(*seconds, UINT32_MAX)));
}

std::string VersionOf(const json::Value& object) {
  const json::Object* metadata =
      object.is_object() ? json::GetObject(object.get_object(), "metadata") : nullptr;
  return metadata == nullptr ? "" : json::GetString(*metadata, "resourceVersion").value_or("");
}

Result<WatchEvent> ReadEvent(std::string_view line) {
  json::Value parsed = TRY(json::Parse(line));
  if (!parsed.is_object()) return Fail(Reason::kInvalid, "an event is not an object");
  json::Object& event = parsed.get_object();
  const std::string type = json::GetString(event, "type").value_or("");
  json::Value* object = event.if_contains("object");
  if (object == nullptr || !object->is_object()) {
    return Fail(Reason::kInvalid, "an event has no object");
  }
  WatchEvent found;
  if (type == "ADDED" || type == "MODIFIED") {
    found.kind = WatchEvent::Kind::kChanged;
  } else if (type == "DELETED") {
    found.kind = WatchEvent::Kind::kDeleted;
  } else if (type == "BOOKMARK") {
    found.kind = WatchEvent::Kind::kBookmark;
  } else if (type == "ERROR") {
    found.kind = WatchEvent::Kind::kError;
  } else {
    return Fail(Reason::kInvalid, "an event is of the unknown type {}", Brief(type));
  }
  if (found.kind != WatchEvent::Kind::kError) {
    found.version = VersionOf(*object);
    if (found.version.empty()) return Fail(Reason::kInvalid, "an event's object has no version");
  }
  found.object = std::move(*object);
  return found;
}

bool Lines::Add(std::string_view bytes) {
  text_.erase(0, begin_);
  scanned_ -= begin_;
  begin_ = 0;
  text_ += bytes;
  const size_t last = text_.rfind('\n');
  const size_t open = last == std::string::npos ? 0 : last + 1;
  return text_.size() - open <= longest_;
}

std::optional<std::string> Lines::Next() {
  while (true) {
    const size_t end = text_.find('\n', scanned_);
    if (end == std::string::npos) {
      scanned_ = text_.size();
      return std::nullopt;
    }
    std::string line = text_.substr(begin_, end - begin_);
    begin_ = scanned_ = end + 1;
    if (!line.empty() && line != "\r") return line;
  }
}

}  // namespace tessera::kube
