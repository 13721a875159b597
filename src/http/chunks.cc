// SPDX-License-Identifier: Apache-2.0
#include "http/chunks.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "http/line.h"

namespace tessera::http {
namespace {

constexpr size_t kLongestLine = 1024;
// Limit for all trailers and chunk extensions together.
constexpr size_t kMostBeside = size_t{8} * 1024;

// Reads "1a; name=value".
std::optional<size_t> ReadSize(std::string_view line) {
  const std::string_view digits = Trim(line.substr(0, line.find(';')));
  const char* end = digits.data() + digits.size();
  size_t size = 0;
  const auto read = std::from_chars(digits.data(), end, size, 16);
  if (digits.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return size;
}

}  // namespace

ChunkReader::State ChunkReader::Add(std::string_view& bytes, std::string& body) {
  for (;;) {
    const size_t now = std::min(left_, bytes.size());
    body += bytes.substr(0, now);
    bytes.remove_prefix(now);
    left_ -= now;
    if (left_ > 0) return State::kGoesOn;
    const size_t end = bytes.find("\r\n");
    const size_t longest =
        end == bytes.npos ? kLongestLine + 1 : kLongestLine;  // may include half of the line end
    if (std::min(end, bytes.size()) > longest) return State::kGarbled;
    if (end == bytes.npos) return State::kGoesOn;
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(end + 2);
    if (!IsPlain(line)) return State::kGarbled;
    if (next_ == Line::kSize) {
      const auto size = ReadSize(line);
      beside_ += line.size() - std::min(line.size(), line.find(';'));
      if (!size || beside_ > kMostBeside) return State::kGarbled;
      if (*size > most_ - body.size()) return State::kTooLong;
      left_ = *size;
      next_ = left_ > 0 ? Line::kEndOfChunk : Line::kTrailer;
    } else if (next_ == Line::kEndOfChunk) {
      if (!line.empty()) return State::kGarbled;
      next_ = Line::kSize;
    } else {
      if (line.empty()) return State::kWhole;
      beside_ += line.size();
      if (beside_ > kMostBeside) return State::kGarbled;
    }
  }
}

}  // namespace tessera::http
