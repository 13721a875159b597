// SPDX-License-Identifier: Apache-2.0
// Writes protobuf fields one after the other, for answers whose protobuf message would consist of
// many small allocations. Field numbers are below 16, so a tag is one byte
// (https://protobuf.dev/programming-guides/encoding). Pure; any thread.
#pragma once

#include <google/protobuf/io/coded_stream.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tessera::kubelet {

// The bytes of a text or message field with `content` bytes: tag, length and content.
inline size_t FieldSize(size_t content) {
  using google::protobuf::io::CodedOutputStream;
  return 1 + CodedOutputStream::VarintSize32(static_cast<uint32_t>(content)) + content;
}
inline size_t NumberSize(uint64_t number) {
  return 1 + google::protobuf::io::CodedOutputStream::VarintSize64(number);
}

// Appends fields to a text. Their total size is known before, so the text grows only once.
class FieldWriter {
 public:
  FieldWriter(std::string& out, size_t size) {
    const size_t before = out.size();
    out.resize(before + size);
    at_ = reinterpret_cast<uint8_t*>(out.data()) + before;
  }

  void Number(int field, uint64_t number) {
    *at_++ = static_cast<uint8_t>(field << 3);
    at_ = google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(number, at_);
  }
  // Writes tag and length; the caller then writes the `length` bytes.
  void Head(int field, size_t length) {
    *at_++ = static_cast<uint8_t>(field << 3 | 2);
    at_ = google::protobuf::io::CodedOutputStream::WriteVarint32ToArray(
        static_cast<uint32_t>(length), at_);
  }
  void Text(int field, std::string_view text) {
    Head(field, text.size());
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }

 private:
  uint8_t* at_;
};

}  // namespace tessera::kubelet
