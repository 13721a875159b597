// SPDX-License-Identifier: Apache-2.0
// What the API server's answers mean: errors, events of a watch, times to wait. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "http/remote.h"
#include "json/json.h"

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

// One event of a watch.
struct WatchEvent {
  enum class Kind : uint8_t { kChanged, kDeleted, kBookmark, kError };
  Kind kind = Kind::kChanged;
  json::Value object;   // of kError a Status; always an object
  std::string version;  // its metadata.resourceVersion; not of kError
};
// kInvalid where a line of a watch's stream is none.
Result<WatchEvent> ReadEvent(std::string_view line);

// metadata.resourceVersion of an object, or of a list; empty where there is none.
std::string VersionOf(const json::Value& object);

// A stream cut into lines.
class Lines {
 public:
  explicit Lines(size_t longest) : longest_(longest) {}
  // The next piece of the stream; false where the line that has not ended yet is too long.
  bool Add(std::string_view bytes);
  // The next whole line, without its end; empty ones are left out.
  std::optional<std::string> Next();

 private:
  const size_t longest_;
  std::string text_;
  size_t begin_ = 0;    // of what was not taken yet
  size_t scanned_ = 0;  // there is no line end from begin_ to here
};

}  // namespace tessera::kube
