// SPDX-License-Identifier: Apache-2.0
// JSON that is read as it comes, of which only what somebody wants is kept: all else is read past
// and takes no memory, however much there is. Any thread; a Reader has one at a time.
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

// What is kept of a text: an allow list, one for each kind of object. A value of another type than
// expected is kept without what is in it, so that whoever looks for it can say so. A copy is the
// same one.
class Shape {
 public:
  struct Part;
  using Member = std::pair<std::string, Shape>;
  using Which = std::function<bool(std::string_view name)>;
  using Wanted = std::function<bool(const Value& element)>;

  static constexpr size_t kLongest = 1024;  // bytes

  // A text, a number, a truth value, or null. Of a text that is longer its length is kept, as a
  // number.
  static Shape Scalar(size_t longest = kLongest);
  // An object with these members.
  static Shape Object(std::vector<Member> members);
  // An object with the members that `which` names; they are of one shape.
  static Shape Map(Which which, const Shape& value);
  // A list. `wanted` is asked of each element once it is read; empty: all are.
  static Shape List(const Shape& element, Wanted wanted = {});
  // A list whose elements are handed over one by one, and not kept.
  static Shape Each(const Shape& element);

  // Of an object's: these members as well, where it has none of their names yet.
  Shape With(const std::vector<Member>& members) const;

  const Part* part() const { return part_.get(); }

 private:
  explicit Shape(std::shared_ptr<const Part> part) : part_(std::move(part)) {}
  std::shared_ptr<const Part> part_;
};

// A member of this name is in an object that did not fit into its bound: what came after is not
// kept. No text brings it along.
inline constexpr std::string_view kCut = "";

class Reader {
 public:
  using Element = std::function<void(Value element)>;
  using TextElement = std::function<void(std::string element)>;

  // `most`: about how many bytes the value may take, and each element that is handed over. Elements
  // that are texts go to `text`, where there is one.
  Reader(Shape shape, size_t most, Element each = {}, TextElement text = {});
  ~Reader();

  // The next piece of the text. kInvalid where that is no JSON; then it stays so. What is nested
  // deeper than kMaxDepth counts as 0, and what is no Unicode as U+FFFD.
  Status Add(std::string_view piece);
  // The text has ended: its value. The next piece begins another text.
  Result<Value> End();
  // Likewise, whatever came of this one.
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
