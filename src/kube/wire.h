// SPDX-License-Identifier: Apache-2.0
// Interprets the API server's answers: errors, watch events, requested pauses. Pure. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "http/remote.h"
#include "json/json.h"
#include "json/reader.h"
#include "kube/client.h"

namespace tessera::kube {

// The answer as an error, with the server's text. Nothing for a 2xx answer.
std::optional<Error> ErrorIn(const http::Reply& reply);
// The same for a Status object in a watch stream.
Error ErrorIn(const json::Object& status);
// The reason in a Status, such as "AlreadyExists". Empty if the body is no Status.
std::string StatusReason(const http::Reply& reply);
// Whether the status is transient, so a retry may succeed.
bool Passes(int status);
// The pause that the server requests, in seconds or as a date; an hour at most.
std::optional<Duration> RetryAfter(const http::Reply& reply, Wall now);
// The same for a Status object in a watch stream, which has no headers.
std::optional<Duration> RetryAfter(const json::Object& status);

// metadata.resourceVersion of an object or a list, or empty.
std::string VersionOf(const json::Value& object);

// A page of a list. Its objects are delivered one by one.
json::Shape PageShape(const json::Shape& object);

// One event of a watch.
struct WatchEvent {
  enum class Kind : uint8_t { kChanged, kDeleted, kBookmark, kError };
  Kind kind = Kind::kChanged;
  json::Value object;   // for kError a Status; always an object
  std::string version;  // its metadata.resourceVersion; unset for kError
};

// Reads a watch stream: one object a line, parsed as it arrives. One thread.
class EventReader {
 public:
  explicit EventReader(const Form& form);
  // etcd's default limit is 1.5 MiB an object.
  static constexpr size_t kLongest = size_t{16} << 20;

  // Parses the next piece and appends complete events. Gives kInvalid if the stream is no watch
  // stream or an event is too long; then no later piece succeeds.
  Status Add(std::string_view bytes, std::vector<WatchEvent>& events);

 private:
  Status EndLine(std::vector<WatchEvent>& events);

  json::Reader reader_;
  size_t length_ = 0;  // of the current event
};

}  // namespace tessera::kube
