// SPDX-License-Identifier: Apache-2.0
// Parses JSON in pieces and keeps only the wanted parts. Skipped parts take no memory, whatever
// their size. Any thread, one at a time for each Reader.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "json/json.h"

namespace tessera::json {

// The wanted parts of a text: an allow list for one kind of object. A value of an unexpected type
// is kept without its content, so the caller can report it. Copies share the content.
class Shape {
 public:
  struct Part;
  using Member = std::pair<std::string, Shape>;
  using Which = std::function<bool(std::string_view name)>;
  using Wanted = std::function<bool(const Value& element)>;

  static constexpr size_t kLongest = 1024;  // bytes

  // A text, number, boolean or null. For a longer text its length is kept, as a number.
  static Shape Scalar(size_t longest = kLongest);
  // An object with these members.
  static Shape Object(std::vector<Member> members);
  // An object with the members that `which` selects, all of one shape.
  static Shape Map(Which which, const Shape& value);
  // A list. `wanted` selects elements after they are read. Empty: all.
  static Shape List(const Shape& element, Wanted wanted = {});
  // A list that delivers its elements one by one and keeps none.
  static Shape Each(const Shape& element);

  // An object shape with additional members. An existing name keeps its shape.
  Shape With(const std::vector<Member>& members) const;

  const Part* part() const { return part_.get(); }

 private:
  explicit Shape(std::shared_ptr<const Part> part) : part_(std::move(part)) {}
  std::shared_ptr<const Part> part_;
};

// The name of a member that marks an object cut at its size limit. No JSON text can produce the
// marker.
inline constexpr std::string_view kCut = "";

class Reader {
 public:
  using Element = std::function<void(Value element)>;
  using TextElement = std::function<void(std::string element)>;

  // `most` is the approximate limit in bytes for the value, and for each delivered element. Text
  // elements go to `text`, if it is set.
  Reader(Shape shape, size_t most, Element each = {}, TextElement text = {});
  ~Reader();

  // Parses the next piece. kInvalid if it is no JSON; then no later piece succeeds. Values nested
  // deeper than kMaxDepth become 0, and invalid Unicode becomes U+FFFD.
  Status Add(std::string_view piece);
  // Ends the text and returns its value. The next piece starts another text.
  Result<Value> End();
  // Drops the current text. The next piece starts another.
  void Clear();
  // Whether a text has begun.
  bool begun() const { return offset_ > 0; }

 private:
  struct Parser;
  Shape shape_;
  std::unique_ptr<Parser> parser_;
  size_t offset_ = 0;
  Status trouble_;
};

}  // namespace tessera::json
