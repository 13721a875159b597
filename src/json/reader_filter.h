// SPDX-License-Identifier: Apache-2.0
// Takes out of a JSON text what would end the parser and costs its reader nothing: an API server
// hands on as it came what a user has written into `managedFields`, where no schema holds. Nesting
// deeper than kMaxDepth becomes 0, half of a surrogate pair U+FFFD, an exponent of many digits one
// of few. What is no JSON otherwise stays so. One thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::json {

class ReaderFilter {
 public:
  // The next piece of the text, as the parser is to have it.
  std::string Add(std::string_view piece);

 private:
  void AddBetween(char c, std::string& out);
  bool IsKept(char c);
  void AddOfText(char c, std::string& out);
  void AddHex(char c, std::string& out);
  void Put(char c, std::string& out) const;

  static constexpr int kNone = -1;
  size_t depth_ = 0;
  bool text_ = false;
  bool escaped_ = false;
  int hex_ = 0;  // digits of a character by its number that are to come
  bool half_ = false;
  bool after_digit_ = false;
  int exponent_ = kNone;  // digits that it may have yet
};

}  // namespace tessera::json
