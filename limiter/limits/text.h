// SPDX-License-Identifier: Apache-2.0
// Pieces of text, without the standard library's throwing functions. They own no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tessera::limiter {

struct Text {
  const char* data = "";
  size_t size = 0;

  Text() = default;
  Text(const char* begin, size_t length) : data(begin), size(length) {}
  explicit Text(const char* whole) : data(whole), size(std::strlen(whole)) {}

  bool operator==(const char* other) const {
    return std::strlen(other) == size && std::memcmp(data, other, size) == 0;
  }
  bool StartsWith(const char* prefix) const {
    const size_t length = std::strlen(prefix);
    return size >= length && std::memcmp(data, prefix, length) == 0;
  }
  Text From(size_t begin) const { return begin < size ? Text(data + begin, size - begin) : Text(); }
  Text Until(size_t end) const { return Text(data, end < size ? end : size); }
  size_t Find(char wanted) const {
    for (size_t i = 0; i < size; ++i) {
      if (data[i] == wanted) return i;
    }
    return size;
  }
};

// The text before the separator; removes both from *rest.
Text Cut(Text* rest, char separator);
// Removes blanks at both ends.
Text Trim(Text text);

// Copies as much as fits, always with an end.
void Copy(Text text, char* out, size_t size);

// Writes "WHERE: what 'text'"; text is truncated and shown in plain characters only.
void Explain(char* out, size_t size, const char* where, const char* what, Text text);

// Accepts only decimal digits, up to `most`.
bool ParseDecimal(Text text, uint64_t most, uint64_t* value);

}  // namespace tessera::limiter
