// SPDX-License-Identifier: Apache-2.0
// Reads a chunked request body as it arrives. Pure. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::http {

class ChunkReader {
 public:
  enum class State : uint8_t { kGoesOn, kWhole, kTooLong, kGarbled };

  // `most` is the body's limit in bytes.
  explicit ChunkReader(size_t most) : most_(most) {}

  // Consumes the readable front of `bytes` and appends body bytes to `body`. A chunk that exceeds
  // the limit is refused when its size is read.
  State Add(std::string_view& bytes, std::string& body);

 private:
  enum class Line : uint8_t { kSize, kEndOfChunk, kTrailer };

  size_t most_;
  Line next_ = Line::kSize;
  size_t left_ = 0;    // bytes left of the chunk
  size_t beside_ = 0;  // bytes of trailers and chunk extensions
};

}  // namespace tessera::http
