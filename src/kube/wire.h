// SPDX-License-Identifier: Apache-2.0
// What the API server's answers mean: errors, events of a watch, times to wait. Pure; any thread.
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

// The error that an answer is, with the server's own words; nothing where it is a good one (2xx).
std::optional<Error> ErrorIn(const http::Reply& reply);
// The same for an object of kind Status, of a watch's stream.
Error ErrorIn(const json::Object& status);
// The reason that a Status gives, such as "AlreadyExists"; empty where the body is none.
std::string StatusReason(const http::Reply& reply);
// Whether the same call may succeed a little later.
bool Passes(int status);
// How long the server asks to be left alone, an hour at most: seconds, or a date.
std::optional<Duration> RetryAfter(const http::Reply& reply, Wall now);
// The same for an object of kind Status, of a watch's stream, which has no headers of its own.
std::optional<Duration> RetryAfter(const json::Object& status);

// metadata.resourceVersion of an object, or of a list; empty where there is none.
std::string VersionOf(const json::Value& object);

// A list's page: its objects come one by one.
json::Shape PageShape(const json::Shape& object);

// One event of a watch.
struct WatchEvent {
  enum class Kind : uint8_t { kChanged, kDeleted, kBookmark, kError };
  Kind kind = Kind::kChanged;
  json::Value object;   // of kError a Status; always an object
  std::string version;  // its metadata.resourceVersion; not of kError
};

// A watch's stream: an object in a line, read as it comes. One thread.
class EventReader {
 public:
  explicit EventReader(const Form& form);
  // etcd keeps no object of more than 1.5 MiB, unless it is told to.
  static constexpr size_t kLongest = size_t{16} << 20;

  // The next piece of the stream; the events that end in it are added to `events`. kInvalid where
  // the stream is none of a watch, or an event does not end: then it stays so.
  Status Add(std::string_view bytes, std::vector<WatchEvent>& events);

 private:
  Status EndLine(std::vector<WatchEvent>& events);

  json::Reader reader_;
  size_t length_ = 0;  // of the event that has begun
};

}  // namespace tessera::kube
