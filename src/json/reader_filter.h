// SPDX-License-Identifier: Apache-2.0
// Rewrites JSON that would stop the parser although the reader does not need it. API servers pass
// on user text in `managedFields` without a schema. Too deep nesting becomes 0, an escaped
// surrogate U+FFFD, and an exponent is cut to few digits. Other invalid JSON stays invalid. One
// thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::json {

class ReaderFilter {
 public:
  // The next piece of text, rewritten for the parser.
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
  // Hex digits still to come in a \u escape.
  int hex_ = 0;
  bool half_ = false;
  bool after_digit_ = false;
  int exponent_ = kNone;  // digits that the exponent may still have
};

}  // namespace tessera::json
