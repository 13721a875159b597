// SPDX-License-Identifier: Apache-2.0
#include "base/quote.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

namespace tessera {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr char kDelete = 0x7F;

uint8_t ByteAt(std::string_view text, size_t at) {
  return static_cast<uint8_t>(text[at]);
}

// The length of the UTF-8 sequence at `at`, or 0 if there is none. Overlong forms, surrogates and
// code points above U+10FFFF are invalid.
size_t SequenceLength(std::string_view text, size_t at) {
  const uint8_t lead = ByteAt(text, at);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                        : (lead & 0xF0) == 0xE0        ? 3
                        : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                       : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((ByteAt(text, at + i) & 0xC0) != 0x80) return 0;
  }
  const uint8_t second = ByteAt(text, at + 1);
  if (lead == 0xE0 && second < 0xA0) return 0;
  if (lead == 0xED && second > 0x9F) return 0;
  if (lead == 0xF0 && second < 0x90) return 0;
  if (lead == 0xF4 && second > 0x8F) return 0;
  return length;
}

// The code point of a valid multi-byte sequence.
char32_t CodePoint(std::string_view sequence) {
  char32_t value = ByteAt(sequence, 0) & (0x7FU >> sequence.size());
  for (size_t i = 1; i < sequence.size(); ++i) value = value << 6U | (ByteAt(sequence, i) & 0x3FU);
  return value;
}

// Characters that control a terminal (C1), break lines, change text direction, or are none.
bool IsControl(char32_t c) {
  return (c >= 0x80 && c <= 0x9F) || c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF ||
         c == 0xFFFE || c == 0xFFFF;
}

void AppendEscape(std::string& out, char32_t c) {
  out += fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
}

// Appends the sequence at `at` as JSON has it within quotes. `length`: SequenceLength, above 1 or
// 0.
void AppendSequence(std::string& out, std::string_view text, size_t at, size_t length) {
  if (length == 0) {
    out += kReplacement;
  } else if (const char32_t c = CodePoint(text.substr(at, length)); IsControl(c)) {
    AppendEscape(out, c);
  } else {
    out += text.substr(at, length);
  }
}

void AppendAscii(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      if (static_cast<uint8_t>(c) < 0x20 || c == kDelete) {
        AppendEscape(out, static_cast<uint8_t>(c));
      } else {
        out += c;
      }
  }
}

}  // namespace

std::string Quote(std::string_view text) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const size_t length = SequenceLength(text, at);
    if (length == 1) {
      AppendAscii(out, text[at]);
    } else {
      AppendSequence(out, text, at, length);
    }
    at += length == 0 ? 1 : length;
  }
  return out + "\"";
}

std::string JsonAsYaml(std::string_view json) {
  // Nearly all texts are printable ASCII only.
  const auto is_plain = [](char c) { return static_cast<uint8_t>(c) < kDelete; };
  if (std::ranges::all_of(json, is_plain)) return std::string(json);
  std::string out;
  for (size_t at = 0; at < json.size();) {
    const size_t length = SequenceLength(json, at);
    if (length != 1) {
      AppendSequence(out, json, at, length);
    } else if (json[at] == kDelete) {
      AppendEscape(out, kDelete);
    } else {
      out += json[at];
    }
    at += length == 0 ? 1 : length;
  }
  return out;
}

std::string ValidUtf8(std::string_view text) {
  // Nearly all texts are ASCII only.
  size_t plain = 0;
  while (plain < text.size() && ByteAt(text, plain) < 0x80) ++plain;
  std::string out(text.substr(0, plain));
  for (size_t at = plain; at < text.size();) {
    const size_t length = SequenceLength(text, at);
    out += length == 0 ? kReplacement : text.substr(at, length);
    at += length == 0 ? 1 : length;
  }
  return out;
}

std::string Brief(std::string_view name) {
  constexpr size_t kLongest = 64;
  const bool plain =
      !name.empty() && name.size() <= kLongest &&
      std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (plain) return std::string(name);
  std::string text = Quote(name.substr(0, kLongest));
  if (name.size() > kLongest) text += fmt::format("... ({} bytes)", name.size());
  return text;
}

}  // namespace tessera
