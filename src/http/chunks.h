// SPDX-License-Identifier: Apache-2.0
// A request's body in chunks, read as it comes. Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::http {

class ChunkReader {
 public:
  enum class State : uint8_t { kGoesOn, kWhole, kTooLong, kGarbled };

  // Of a body of `most` bytes.
  explicit ChunkReader(size_t most) : most_(most) {}

  // Takes off the front of `bytes` what can be read by now, and adds what of it is of the body to
  // `body`. A chunk that would be too much is refused when it is announced.
  State Add(std::string_view& bytes, std::string& body);

 private:
  enum class Line : uint8_t { kSize, kEndOfChunk, kTrailer };

  size_t most_;
  Line next_ = Line::kSize;
  size_t left_ = 0;    // of the chunk
  size_t beside_ = 0;  // bytes of trailers, and of what stands behind sizes
};

}  // namespace tessera::http
