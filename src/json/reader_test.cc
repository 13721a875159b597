// SPDX-License-Identifier: Apache-2.0
#include "json/reader.h"

#include <gtest/gtest.h>

namespace tessera::json {
namespace {

constexpr size_t kMost = 4096;

Shape Names() {
  return Shape::Object({{"name", Shape::Scalar(8)}});
}

// The kept value of a text that is read in pieces of this size.
Result<Value> Read(const Shape& shape, std::string_view text, size_t piece = 1,
                   size_t most = kMost) {
  Reader reader(shape, most);
  while (!text.empty()) {
    TRY(reader.Add(text.substr(0, piece)));
    text.remove_prefix(std::min(piece, text.size()));
  }
  return reader.End();
}
std::string Kept(const Shape& shape, std::string_view text, size_t most = kMost) {
  const auto value = Read(shape, text, 1, most);
  return value ? Write(*value) : value.error().message;
}

TEST(ReaderTest, MembersThatAreNamedAreKeptAndNoOthers) {
  const Shape shape =
      Shape::Object({{"a", Shape::Scalar()}, {"b", Names()}, {"c", Shape::List(Names())}});

  EXPECT_EQ(Kept(shape, R"({"x":[1,{"a":2}],"a":1.5,"b":{"name":"n","a":3},"y":"t",
                           "c":[{"name":"m","b":[]},{}],"z":null})"),
            R"({"a":1.5E0,"b":{"name":"n"},"c":[{"name":"m"},{}]})");
}

TEST(ReaderTest, OfAMapTheMembersThatAreAskedForAreKept) {
  const Shape shape =
      Shape::Map([](std::string_view key) { return key.starts_with("hami.io/"); }, Shape::Scalar());

  EXPECT_EQ(Kept(shape, R"({"hami.io/a":"1","other":"2","hami.io/b":true})"),
            R"({"hami.io/a":"1","hami.io/b":true})");
}

TEST(ReaderTest, OfAListTheElementsThatAreWantedAreKept) {
  const Shape shape = Shape::List(
      Names(), [](const Value& element) { return GetString(element.as_object(), "name") == "b"; });

  EXPECT_EQ(Kept(shape, R"([{"name":"a"},{"name":"b"},{"other":[{"name":"b"}]}])"),
            R"([{"name":"b"}])");
}

TEST(ReaderTest, WhatIsDroppedTakesNoRoom) {
  const Shape shape = Shape::List(Names(), [](const Value&) { return false; });
  std::string text = "[";
  for (int i = 0; i < 1000; ++i) text += R"({"name":"a"},)";

  EXPECT_EQ(Kept(shape, text + "{}]"), "[]");
}

TEST(ReaderTest, PiecesMakeNoDifference) {
  const Shape shape =
      Shape::Object({{"a", Shape::Scalar(16)}, {"l", Shape::List(Shape::Scalar())}});
  const std::string text =
      R"( {"a":"\u00e4\n\"x","skip":{"a":"\ud83d\ude00"},"l":[-12.5e3,18446744073709551615,)"
      "\"\xc3\xa4\",false,null]} ";
  const auto whole = Read(shape, text, text.size());

  ASSERT_TRUE(whole.has_value()) << whole.error().message;
  for (size_t piece = 1; piece < text.size(); ++piece) {
    EXPECT_EQ(Read(shape, text, piece), whole) << piece;
  }
}

TEST(ReaderTest, OfATextThatIsTooLongItsLengthIsKept) {
  const std::string long_one(1000, 'x');

  EXPECT_EQ(Kept(Names(), R"({"name":"12345678"})"), R"({"name":"12345678"})");
  EXPECT_EQ(Kept(Names(), R"({"name":"123456789"})"), R"({"name":9})");
  EXPECT_EQ(Kept(Names(), R"({"name":")" + long_one + R"("})"), R"({"name":1000})");
}

TEST(ReaderTest, AKeyThatIsTooLongIsNobodys) {
  const Shape shape = Shape::Map([](std::string_view) { return true; }, Shape::Scalar());

  EXPECT_EQ(Kept(shape, fmt::format(R"({{"{}":1,"a":2,"":3}})", std::string(513, 'k'))),
            R"({"a":2})");
}

TEST(ReaderTest, AValueOfAnotherTypeIsKeptWithoutWhatIsInIt) {
  const Shape shape =
      Shape::Object({{"a", Shape::Scalar()}, {"b", Names()}, {"c", Shape::List(Shape::Scalar())}});

  EXPECT_EQ(Kept(shape, R"({"a":{"x":1},"b":[1,2],"c":{"y":[3]}})"), R"({"a":{},"b":[],"c":{}})");
  EXPECT_EQ(Kept(shape, R"({"a":[{"x":1}],"b":"text","c":7})"), R"({"a":[],"b":"text","c":7})");
  EXPECT_EQ(Kept(shape, "12"), "12");
}

TEST(ReaderTest, AnObjectThatIsOverItsBoundSaysSo) {
  const Shape shape =
      Shape::Object({{"name", Shape::Scalar()}, {"l", Shape::List(Shape::Scalar())}});
  std::string text = R"({"name":"n","l":[0)";
  for (int i = 1; i < 1000; ++i) text += "," + std::to_string(i);

  const auto value = Read(shape, text + "]}", 7, 1024);

  ASSERT_TRUE(value.has_value());
  const Object& object = value->as_object();
  EXPECT_EQ(GetString(object, "name"), "n");
  EXPECT_EQ(GetBool(object, kCut), true);
  EXPECT_LT(GetArray(object, "l")->size(), 16U);
  EXPECT_EQ(Kept(shape, text + "]}", 1 << 20).find(R"("":)"), std::string::npos);
}

TEST(ReaderTest, ElementsThatAreTextsAreHandedOverAsSuch) {
  std::vector<std::string> texts;
  Array others;
  Reader reader(
      Shape::Each(Shape::Scalar(8)), 200, [&](Value other) { others.push_back(std::move(other)); },
      [&](std::string text) { texts.push_back(std::move(text)); });
  for (const char* piece : {R"(["a", 1, "sp)", R"(lit", "\u00e9\n", "too long a text", null])"}) {
    ASSERT_TRUE(reader.Add(piece));
  }
  ASSERT_TRUE(reader.End());
  EXPECT_EQ(texts, (std::vector<std::string>{"a", "split", "\u00e9\n"}));
  EXPECT_EQ(others, (Array{1, 15, nullptr}));
}

TEST(ReaderTest, ElementsAreHandedOverEachWithItsBound) {
  const Shape shape = Shape::Object(
      {{"next", Shape::Scalar()}, {"items", Shape::Each(Shape::List(Shape::Scalar()))}});
  std::vector<std::string> seen;
  Reader reader(shape, 256, [&](const Value& element) { seen.push_back(Write(element)); });
  std::string text = R"({"items":[[1],)";
  for (int i = 0; i < 100; ++i) text += "[1,2],";
  text += R"(3,[]],"next":"more"})";

  ASSERT_TRUE(reader.Add(text).has_value());
  const auto rest = reader.End();

  ASSERT_TRUE(rest.has_value());
  EXPECT_EQ(Write(*rest), R"({"items":[],"next":"more"})");
  ASSERT_EQ(seen.size(), 103U);
  EXPECT_EQ(seen[0], "[1]");
  EXPECT_EQ(seen[100], "[1,2]");
  EXPECT_EQ(seen[101], "3");
  EXPECT_EQ(seen[102], "[]");
}

TEST(ReaderTest, ElementsThatAreOverTheirBoundSaySo) {
  std::vector<std::string> seen;
  Reader reader(Shape::Each(Shape::Object({{"a", Shape::Scalar()}, {"b", Shape::Scalar()}})), 200,
                [&](const Value& element) { seen.push_back(Write(element)); });

  ASSERT_TRUE(
      reader.Add(fmt::format(R"([{{"a":"{}","b":1}},{{"a":1,"b":2}}])", std::string(300, 'x')))
          .has_value());

  EXPECT_EQ(seen, (std::vector<std::string>{R"({"":true})", R"({"a":1,"b":2})"}));
}

TEST(ReaderTest, NestingOfAnyDepthIsPassedOver) {
  const std::string deep = std::string(10'000, '[') + R"("]\"")" + std::string(10'000, ']');

  EXPECT_EQ(Kept(Names(), R"({"x":)" + deep + R"(,"name":"a"})"), R"({"name":"a"})");
  EXPECT_EQ(Kept(Names(), R"({"x":)" + std::string(10'000, '[')),
            "JSON, offset 37: incomplete JSON");
  EXPECT_EQ(Kept(Names(), R"({"x":)" + std::string(31, '[') + std::string(31, ']') + "}"), "{}");
}

TEST(ReaderTest, WhatIsNoUnicodeIsReplaced) {
  EXPECT_EQ(Kept(Names(), "{\"\xff\":1,\"name\":\"a\xff\"}"), "{\"name\":\"a\uFFFD\"}");
  EXPECT_EQ(Kept(Names(), R"({"f:\ud800":1,"name":"\uD83D\ude00\u00e4"})"),
            "{\"name\":\"\uFFFD\uFFFD\u00e4\"}");
  EXPECT_EQ(Kept(Names(), R"({"name":"\ud7ff\uE000"})"), "{\"name\":\"\ud7ff\ue000\"}");
}

TEST(ReaderTest, ANumberWithoutEndIsPassedOver) {
  EXPECT_EQ(Kept(Names(), R"({"x":1e99999999999999999999,"y":-2.5E-3,"name":"a"})"),
            R"({"name":"a"})");
}

TEST(ReaderTest, WhatIsNoJsonIsRefusedWhereItStands) {
  EXPECT_EQ(Kept(Names(), R"({"name":x)"), "JSON, offset 8: syntax error");
  EXPECT_EQ(Kept(Names(), R"({} {})"), "JSON, offset 3: extra data");
  EXPECT_EQ(Kept(Names(), R"({"name":"a")"), "JSON, offset 11: incomplete JSON");
  EXPECT_EQ(Kept(Names(), ""), "JSON, offset 0: incomplete JSON");
}

TEST(ReaderTest, OneTextMayFollowAnother) {
  Reader reader(Names(), kMost);
  ASSERT_TRUE(reader.Add(R"({"name":"a"})").has_value());
  EXPECT_TRUE(reader.begun());
  EXPECT_EQ(Write(*reader.End()), R"({"name":"a"})");
  EXPECT_FALSE(reader.begun());

  EXPECT_FALSE(reader.Add("<html>").has_value());
  EXPECT_FALSE(reader.Add("{}").has_value());
  EXPECT_FALSE(reader.End().has_value());

  ASSERT_TRUE(reader.Add(R"({"name":"b"})").has_value());
  EXPECT_EQ(Write(*reader.End()), R"({"name":"b"})");
}

}  // namespace
}  // namespace tessera::json
