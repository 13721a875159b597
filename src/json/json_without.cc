// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>
#include <limits>
#include <string>
#include <vector>

#include "json/json.h"

namespace tessera::json {
namespace {

using Code = boost::json::error_code;
using Text = boost::json::string_view;

// What the parser finds becomes a value, but for the members that are left out. A `false` would end
// the parser.
class Keeper {
 public:
  explicit Keeper(std::span<const std::string_view> names) : names_(names) {}
  Value Release() { return stack_.release(); }

  // NOLINTBEGIN(readability-identifier-naming): the library calls them so.
  static constexpr size_t max_object_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_array_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_key_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_string_size = std::numeric_limits<size_t>::max();

  bool on_document_begin(Code&) {
    stack_.reset();
    return true;
  }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) { return Open(); }
  bool on_object_end(size_t members, Code&) {
    if (!Close()) return true;
    stack_.push_object(members - left_out_.back());
    left_out_.pop_back();
    return true;
  }
  bool on_array_begin(Code&) { return Open(); }
  bool on_array_end(size_t elements, Code&) {
    if (!Close()) return true;
    stack_.push_array(elements);
    left_out_.pop_back();
    return true;
  }
  bool on_key_part(Text part, size_t, Code&) {
    if (!leaving_out_) key_ += part;
    return true;
  }
  bool on_key(Text part, size_t, Code&) {
    if (leaving_out_) return true;
    key_ += part;
    if (std::ranges::find(names_, key_) == names_.end()) {
      stack_.push_key(key_);
    } else {
      leaving_out_ = true;
      ++left_out_.back();
    }
    key_.clear();
    return true;
  }
  bool on_string_part(Text part, size_t, Code&) {
    if (!leaving_out_) stack_.push_chars(part);
    return true;
  }
  bool on_string(Text part, size_t, Code&) {
    if (Scalar()) stack_.push_string(part);
    return true;
  }
  bool on_number_part(Text, Code&) { return true; }
  bool on_int64(int64_t number, Text, Code&) {
    if (Scalar()) stack_.push_int64(number);
    return true;
  }
  bool on_uint64(uint64_t number, Text, Code&) {
    if (Scalar()) stack_.push_uint64(number);
    return true;
  }
  bool on_double(double number, Text, Code&) {
    if (Scalar()) stack_.push_double(number);
    return true;
  }
  bool on_bool(bool value, Code&) {
    if (Scalar()) stack_.push_bool(value);
    return true;
  }
  bool on_null(Code&) {
    if (Scalar()) stack_.push_null();
    return true;
  }
  bool on_comment_part(Text, Code&) { return true; }
  bool on_comment(Text, Code&) { return true; }
  // NOLINTEND(readability-identifier-naming)

 private:
  bool Open() {
    if (leaving_out_) {
      ++depth_;
    } else {
      left_out_.push_back(0);
    }
    return true;
  }
  // Whether what closes is kept.
  bool Close() {
    if (!leaving_out_) return true;
    if (--depth_ == 0) leaving_out_ = false;
    return false;
  }
  // Whether this one is kept.
  bool Scalar() {
    if (!leaving_out_) return true;
    if (depth_ == 0) leaving_out_ = false;
    return false;
  }

  const std::span<const std::string_view> names_;
  boost::json::value_stack stack_;
  std::string key_;
  std::vector<size_t> left_out_;  // members, of each object and array that is open
  bool leaving_out_ = false;      // a member's value
  size_t depth_ = 0;              // in it
};

}  // namespace

Result<Value> ParseWithout(std::string_view text, std::span<const std::string_view> names) {
  boost::json::parse_options options;
  options.max_depth = kMaxDepth;
  boost::json::basic_parser<Keeper> parser(options, names);
  Code error;
  const size_t read = parser.write_some(false, text.data(), text.size(), error);
  if (error) return Fail(Reason::kInvalid, "JSON, offset {}: {}", read, error.message());
  if (read < text.size()) return Fail(Reason::kInvalid, "JSON, offset {}: extra data", read);
  return parser.handler().Release();
}

}  // namespace tessera::json
