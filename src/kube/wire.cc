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

constexpr size_t kMaxWords = 1024;  // bytes of the server's text in a message
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

// An event's object is an object of the list or a Status.
json::Shape EventShape(const json::Shape& object) {
  using json::Shape;
  return Shape::Object(
      {{"type", Shape::Scalar()},
       {"object",
        object.With({{"metadata", Shape::Object({{"resourceVersion", Shape::Scalar()}})},
                     {"message", Shape::Scalar(4 * kMaxWords)},
                     {"reason", Shape::Scalar()},
                     {"code", Shape::Scalar()},
                     {"details", Shape::Object({{"retryAfterSeconds", Shape::Scalar()}})}})}});
}

std::optional<WatchEvent::Kind> EventKindOf(std::string_view type) {
  if (type == "ADDED" || type == "MODIFIED") return WatchEvent::Kind::kChanged;
  if (type == "DELETED") return WatchEvent::Kind::kDeleted;
  if (type == "BOOKMARK") return WatchEvent::Kind::kBookmark;
  if (type == "ERROR") return WatchEvent::Kind::kError;
  return std::nullopt;
}

Result<WatchEvent> EventOf(json::Value line) {
  if (!line.is_object()) return Fail(Reason::kInvalid, "an event is not an object");
  json::Object& event = line.get_object();
  const std::string type = json::GetString(event, "type").value_or("");
  json::Value* object = event.if_contains("object");
  if (object == nullptr || !object->is_object()) {
    return Fail(Reason::kInvalid, "an event has no object");
  }
  const auto kind = EventKindOf(type);
  if (!kind) return Fail(Reason::kInvalid, "an event has the unknown type {}", Brief(type));
  WatchEvent found;
  found.kind = *kind;
  if (*kind != WatchEvent::Kind::kError) {
    found.version = VersionOf(*object);
    if (found.version.empty()) return Fail(Reason::kInvalid, "an event's object has no version");
  }
  if (event.contains(json::kCut)) object->get_object()[json::kCut] = true;
  found.object = std::move(*object);
  return found;
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

json::Shape PageShape(const json::Shape& object) {
  constexpr size_t kLongestToken = 16 << 10;
  return json::Shape::Object(
      {{"metadata", json::Shape::Object({{"resourceVersion", json::Shape::Scalar()},
                                         {"continue", json::Shape::Scalar(kLongestToken)}})},
       {"items", json::Shape::Each(object)}});
}

EventReader::EventReader(const Form& form) : reader_(EventShape(form.shape), form.most) {}

// JSON text contains no raw line end inside strings, and the server sends each event on one line.
Status EventReader::Add(std::string_view bytes, std::vector<WatchEvent>& events) {
  while (true) {
    const size_t end = bytes.find('\n');
    std::string_view part = bytes.substr(0, end);
    if (!reader_.begun()) part.remove_prefix(std::min(part.find_first_not_of('\r'), part.size()));
    length_ += part.size();
    if (length_ > kLongest) {
      return Fail(Reason::kInvalid, "an event has more than {} MiB", kLongest >> 20);
    }
    TRY_IN(reader_.Add(part), "an event");
    if (end == std::string_view::npos) return {};
    TRY(EndLine(events));
    bytes.remove_prefix(end + 1);
  }
}

Status EventReader::EndLine(std::vector<WatchEvent>& events) {
  length_ = 0;
  if (!reader_.begun()) return {};  // empty line
  json::Value line = TRY_IN(reader_.End(), "an event");
  events.push_back(TRY(EventOf(std::move(line))));
  return {};
}

}  // namespace tessera::kube
