// SPDX-License-Identifier: Apache-2.0
#include "json/reader_filter.h"

#include "base/characters.h"
#include "json/json.h"

namespace tessera::json {
namespace {

// The length of the prefix without quotes and escapes, which is copied unchanged: nearly all text.
size_t PlainIn(std::string_view rest) {
  size_t plain = 0;
  while (plain < rest.size() && rest[plain] != '"' && rest[plain] != '\\') ++plain;
  return plain;
}

}  // namespace

std::string ReaderFilter::Add(std::string_view piece) {
  std::string out;
  out.reserve(piece.size());
  for (size_t at = 0; at < piece.size(); ++at) {
    if (text_ && !escaped_ && hex_ == 0) {
      const size_t run = PlainIn(piece.substr(at));
      if (depth_ <= kMaxDepth) out.append(piece, at, run);
      at += run;
      if (at == piece.size()) break;
    }
    if (text_) {
      AddOfText(piece[at], out);
    } else {
      AddBetween(piece[at], out);
    }
  }
  return out;
}

void ReaderFilter::AddBetween(char c, std::string& out) {
  if (c == '{' || c == '[') {
    if (++depth_ == kMaxDepth + 1) out += '0';
  } else if ((c == '}' || c == ']') && depth_ > 0) {
    if (depth_-- > kMaxDepth) return;
  }
  text_ = c == '"';
  if (IsKept(c)) Put(c, out);
}

// False for exponent digits beyond a few.
bool ReaderFilter::IsKept(char c) {
  constexpr int kDigits = 4;
  const bool digit = IsDigit(c);
  if (after_digit_ && (c == 'e' || c == 'E')) {
    exponent_ = kDigits;
  } else if (!digit && c != '+' && c != '-') {
    exponent_ = kNone;
  }
  after_digit_ = digit || (after_digit_ && c == '.');
  if (!digit || exponent_ == kNone) return true;
  if (exponent_ == 0) return false;
  --exponent_;
  return true;
}

void ReaderFilter::AddOfText(char c, std::string& out) {
  if (hex_ > 0) return AddHex(c, out);
  if (escaped_) {
    escaped_ = false;
    if (c == 'u') hex_ = 4;
  } else if (c == '\\') {
    escaped_ = true;
  } else if (c == '"') {
    text_ = false;
  }
  Put(c, out);
}

// Replaces D800 to DFFF by FFFD, even if both halves of a pair are there.
void ReaderFilter::AddHex(char c, std::string& out) {
  const int left = hex_--;
  if (left == 4) half_ = c == 'd' || c == 'D';
  if (left == 4 && half_) return;  // written with the next digit
  if (left == 3 && half_) {
    half_ = c >= '8';
    Put(half_ ? 'f' : 'd', out);
  }
  Put(!half_ ? c : left == 1 ? 'd' : 'f', out);
}

void ReaderFilter::Put(char c, std::string& out) const {
  if (depth_ <= kMaxDepth) out += c;
}

}  // namespace tessera::json
