// SPDX-License-Identifier: Apache-2.0
#include "json/reader.h"

#include <fmt/core.h>

#include <boost/json/basic_parser_impl.hpp>
#include <limits>
#include <optional>

#include "base/quote.h"
#include "json/reader_filter.h"

namespace tessera::json {

struct Shape::Part {
  enum class Kind : uint8_t { kScalar, kObject, kMap, kList, kEach };
  Kind kind = Kind::kScalar;
  size_t longest = 0;
  std::vector<Member> members{};
  Which which{};
  Wanted wanted{};
  std::optional<Shape> inner{};  // shape of all members or elements

  // Null if the member is not wanted.
  const Part* MemberPart(std::string_view name) const {
    for (const auto& [member, shape] : members) {
      if (member == name) return shape.part();
    }
    return kind == Kind::kMap && which(name) ? inner->part() : nullptr;
  }
  const Part* ElementPart() const {
    return kind == Kind::kList || kind == Kind::kEach ? inner->part() : nullptr;
  }
};

namespace {

using Code = boost::json::error_code;
using Text = boost::json::string_view;
using Kind = Shape::Part::Kind;

constexpr size_t kLongestKey = 512;  // Kubernetes' longest key has 317
constexpr size_t kValueCost = 64;    // bytes of a value without its text

// Builds the wanted value from parser events. No handler returns false, since that would end the
// parser.
class Builder {
 public:
  Builder(const Shape::Part* root, size_t most, const Reader::Element& each,
          const Reader::TextElement& text)
      : root_(root), most_(most), each_(each), each_text_(text) {}

  Value Release() {
    Mark(value_);
    return std::move(value_);
  }

  // NOLINTBEGIN(readability-identifier-naming): the library calls them so.
  static constexpr size_t max_object_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_array_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_key_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_string_size = std::numeric_limits<size_t>::max();

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) { return Open(Object()); }
  bool on_object_end(size_t, Code&) { return Close(); }
  bool on_array_begin(Code&) { return Open(Array()); }
  bool on_array_end(size_t, Code&) { return Close(); }
  bool on_key_part(Text part, size_t, Code&) {
    if (passing_ == 0) AddTo(key_, key_size_, part, kLongestKey);
    return true;
  }
  bool on_key(Text part, size_t, Code&) {
    if (passing_ > 0) return true;
    AddTo(key_, key_size_, part, kLongestKey);
    Frame& frame = frames_.back();
    const bool fits = key_size_ <= kLongestKey && !key_.empty();
    frame.member = fits ? frame.part->MemberPart(key_) : nullptr;
    frame.key = ValidUtf8(std::exchange(key_, {}));
    key_size_ = 0;
    return true;
  }
  bool on_string_part(Text part, size_t, Code&) {
    if (const Shape::Part* wanted = Wanted()) AddTo(text_, text_size_, part, LongestOf(*wanted));
    return true;
  }
  bool on_string(Text part, size_t, Code&) {
    const Shape::Part* wanted = Wanted();
    if (wanted == nullptr) return true;
    AddTo(text_, text_size_, part, LongestOf(*wanted));
    const size_t size = std::exchange(text_size_, 0);
    if (size > LongestOf(*wanted)) return Put(static_cast<int64_t>(size), 0);
    if (each_text_ && InEach()) {
      each_text_(ValidUtf8(text_));
      text_.clear();
      return true;
    }
    Value value = Value(std::string_view(ValidUtf8(text_)));
    text_.clear();
    return Put(std::move(value), size);
  }
  bool on_number_part(Text, Code&) { return true; }
  bool on_int64(int64_t number, Text, Code&) { return Put(number, 0); }
  bool on_uint64(uint64_t number, Text, Code&) { return Put(number, 0); }
  bool on_double(double number, Text, Code&) { return Put(number, 0); }
  bool on_bool(bool value, Code&) { return Put(value, 0); }
  bool on_null(Code&) { return Put(nullptr, 0); }
  bool on_comment_part(Text, Code&) { return true; }
  bool on_comment(Text, Code&) { return true; }
  // NOLINTEND(readability-identifier-naming)

 private:
  // An open object or list that is kept.
  struct Frame {
    const Shape::Part* part;
    Value value;
    size_t cost_before;
    bool cut_before;
    std::string key{};                    // of its current member
    const Shape::Part* member = nullptr;  // null: not wanted
  };

  static size_t LongestOf(const Shape::Part& part) {
    return part.kind == Kind::kScalar ? part.longest : Shape::kLongest;
  }
  // `size` also counts bytes beyond `longest`, which are not kept.
  static void AddTo(std::string& text, size_t& size, Text part, size_t longest) {
    size += part.size();
    if (size <= longest) {
      text.append(part.data(), part.size());
    } else {
      text = {};
    }
  }

  // The wanted parts of the next value; null: none.
  const Shape::Part* Wanted() const {
    if (passing_ > 0) return nullptr;
    if (frames_.empty()) return root_;
    const Frame& frame = frames_.back();
    return frame.value.is_object() ? frame.member : frame.part->ElementPart();
  }
  bool InEach() const { return !frames_.empty() && frames_.back().part->kind == Kind::kEach; }

  // Reserves room for one more value. False if there is none.
  bool Take(size_t size) {
    const bool fits = !cut_ && cost_ + kValueCost + size <= most_;
    if (fits) cost_ += kValueCost + size;
    cut_ = !fits;
    return fits;
  }
  size_t KeySize() const { return frames_.empty() ? 0 : frames_.back().key.size(); }

  bool Open(Value empty) {
    const Shape::Part* part = Wanted();
    if (part == nullptr) {
      ++passing_;
      return true;
    }
    const size_t cost_before = cost_;
    const bool cut_before = cut_;
    if (InEach()) {
      cost_ = 0;
      cut_ = false;
    }
    if (!Take(KeySize())) {
      ++passing_;
      return true;
    }
    frames_.push_back({part, std::move(empty), cost_before, cut_before});
    return true;
  }

  bool Close() {
    if (passing_ > 0) {
      --passing_;
      return true;
    }
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    if (InEach()) {
      Mark(frame.value);
      cost_ = frame.cost_before;
      cut_ = frame.cut_before;
      each_(std::move(frame.value));
      return true;
    }
    const bool dropped = !frames_.empty() && frames_.back().part->wanted &&
                         !frames_.back().part->wanted(frame.value);
    if (!dropped) return Attach(std::move(frame.value));
    cost_ = frame.cost_before;
    return true;
  }

  bool Put(Value value, size_t size) {
    if (Wanted() == nullptr) return true;
    if (InEach()) {
      each_(std::move(value));
      return true;
    }
    return Take(size + KeySize()) ? Attach(std::move(value)) : true;
  }

  bool Attach(Value value) {
    if (frames_.empty()) {
      value_ = std::move(value);
    } else if (Object* object = frames_.back().value.if_object()) {
      object->insert_or_assign(frames_.back().key, std::move(value));
    } else {
      frames_.back().value.get_array().push_back(std::move(value));
    }
    return true;
  }

  void Mark(Value& value) const {
    if (cut_ && value.is_object()) value.get_object()[kCut] = true;
  }

  const Shape::Part* root_;
  const size_t most_;
  const Reader::Element& each_;
  const Reader::TextElement& each_text_;
  std::vector<Frame> frames_;
  Value value_;
  size_t passing_ = 0;  // open objects and lists that are skipped
  std::string key_;     // the part of the next key that has arrived
  size_t key_size_ = 0;
  std::string text_;
  size_t text_size_ = 0;
  size_t cost_ = 0;   // of kept values
  bool cut_ = false;  // a value was dropped for lack of room
};

boost::json::parse_options Options() {
  boost::json::parse_options options;
  options.max_depth = kMaxDepth;
  options.allow_invalid_utf8 = true;
  return options;
}

}  // namespace

Shape Shape::Scalar(size_t longest) {
  return Shape(std::make_shared<const Part>(Part{.kind = Part::Kind::kScalar, .longest = longest}));
}

Shape Shape::Object(std::vector<Member> members) {
  return Shape(std::make_shared<const Part>(
      Part{.kind = Part::Kind::kObject, .members = std::move(members)}));
}

Shape Shape::Map(Which which, const Shape& value) {
  return Shape(std::make_shared<const Part>(
      Part{.kind = Part::Kind::kMap, .which = std::move(which), .inner = value}));
}

Shape Shape::List(const Shape& element, Wanted wanted) {
  return Shape(std::make_shared<const Part>(
      Part{.kind = Part::Kind::kList, .wanted = std::move(wanted), .inner = element}));
}

Shape Shape::Each(const Shape& element) {
  return Shape(std::make_shared<const Part>(Part{.kind = Part::Kind::kEach, .inner = element}));
}

// Of equal names the first counts, so existing members win.
Shape Shape::With(const std::vector<Member>& members) const {
  Part more = *part_;
  more.members.insert(more.members.end(), members.begin(), members.end());
  return Shape(std::make_shared<const Part>(std::move(more)));
}

struct Reader::Parser {
  Parser(const Shape& shape, size_t most_, Element each_, TextElement text_)
      : root(shape.part()), most(most_), each(std::move(each_)), text(std::move(text_)) {
    Clear();
  }
  void Clear() {
    parser.emplace(Options(), root, most, each, text);
    filter = {};
  }

  const Shape::Part* root;
  const size_t most;
  const Element each;
  const TextElement text;
  std::optional<boost::json::basic_parser<Builder>> parser;
  ReaderFilter filter;
};

Reader::Reader(Shape shape, size_t most, Element each, TextElement text)
    : shape_(std::move(shape)),
      parser_(std::make_unique<Parser>(shape_, most, std::move(each), std::move(text))) {}

Reader::~Reader() = default;

void Reader::Clear() {
  parser_->Clear();
  offset_ = 0;
  trouble_ = {};
}

Status Reader::Add(std::string_view piece) {
  TRY(trouble_);
  Code error;
  const std::string text = parser_->filter.Add(piece);
  const size_t read = parser_->parser->write_some(true, text.data(), text.size(), error);
  offset_ += read;
  if (error) {
    trouble_ = Fail(Reason::kInvalid, "JSON, offset {}: {}", offset_, error.message());
  } else if (read < text.size()) {
    trouble_ = Fail(Reason::kInvalid, "JSON, offset {}: extra data", offset_);
  }
  return trouble_;
}

Result<Value> Reader::End() {
  Code error;
  if (trouble_) parser_->parser->write_some(false, nullptr, 0, error);
  if (error) trouble_ = Fail(Reason::kInvalid, "JSON, offset {}: {}", offset_, error.message());
  Result<Value> value =
      trouble_ ? Result<Value>(parser_->parser->handler().Release()) : Fail(trouble_.error());
  Clear();
  return value;
}

}  // namespace tessera::json
