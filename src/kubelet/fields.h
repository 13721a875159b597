// SPDX-License-Identifier: Apache-2.0
// Protobuf fields, written one by one behind each other: for answers of which a protobuf message
// would have to be built first, in many small pieces. Field numbers are below 16: a tag is one byte
// (https://protobuf.dev/programming-guides/encoding). Pure; any thread.
#pragma once

#include <google/protobuf/io/coded_stream.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace tessera::kubelet {

// The size of a text or message field with `content` bytes: tag, length and content.
inline size_t FieldSize(size_t content) {
  using google::protobuf::io::CodedOutputStream;
  return 1 + CodedOutputStream::VarintSize32(static_cast<uint32_t>(content)) + content;
}
inline size_t NumberSize(uint64_t number) {
  return 1 + google::protobuf::io::CodedOutputStream::VarintSize64(number);
}

inline void PutVarint(uint64_t number, std::string& out) {
  uint8_t buffer[10];
  uint8_t* end = google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(number, buffer);
  out.append(std::begin(buffer), end);
}

inline void PutNumber(int field, uint64_t number, std::string& out) {
  out += static_cast<char>(field << 3);
  PutVarint(number, out);
}

// Of a text or message of `length` bytes, which is to follow.
inline void PutHead(int field, size_t length, std::string& out) {
  out += static_cast<char>(field << 3 | 2);
  PutVarint(length, out);
}

inline void PutText(int field, std::string_view text, std::string& out) {
  PutHead(field, text.size(), out);
  out += text;
}

}  // namespace tessera::kubelet
