// SPDX-License-Identifier: Apache-2.0
#include "json/json.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera::json {
namespace {

TEST(Json, WhatIsWrittenReadsBack) {
  const std::string text = R"({"a":[1,-2,true,null,"x\ny"],"b":{},"c":18446744073709551615})";

  EXPECT_EQ(Write(Parse(text).value()), text);
}

TEST(Json, PrettyFormHasTwoSpacesALevel) {
  const Value value = Parse(R"({"a":[1,{"b":"c"}],"d":[],"e":{},"\"":1})").value();

  EXPECT_EQ(WritePretty(value), R"({
  "a": [
    1,
    {
      "b": "c"
    }
  ],
  "d": [],
  "e": {},
  "\"": 1
}
)");
}

TEST(Json, PrettyFormHasPlainDecimalNumbers) {
  EXPECT_EQ(WritePretty(Value(1.8)), "1.8\n");
  EXPECT_EQ(WritePretty(Value(0.1)), "0.1\n");
  EXPECT_EQ(WritePretty(*Parse("1e999")), Write(*Parse("1e999")) + "\n");  // no number of C++'s
}

TEST(Json, PrettyFormReadsBack) {
  const Value value = Parse(R"({"a":[1,{"b":"c"}],"d":[[]]})").value();

  EXPECT_EQ(Parse(WritePretty(value)).value(), value);
}

TEST(Json, MembersMayBeLeftOutWithAllThatIsInThem) {
  constexpr std::string_view kNames[] = {"a", "b\n"};
  struct Case {
    std::string_view text;
    std::string_view kept;
  };
  for (const Case& c :
       {Case{R"({"a":1,"c":2})", R"({"c":2})"},
        Case{R"({"c":"x\ny","a":"x\ny"})", R"({"c":"x\ny"})"},
        Case{R"({"a":{"c":[1,{"a":2}],"d":{}},"c":{"a":[],"c":[{"a":null},3]}})",
             R"({"c":{"c":[{},3]}})"},
        Case{R"([{"a":[[1],[2.5]]},{"a":true},{"a":-1},{"a":18446744073709551615}])",
             "[{},{},{},{}]"},
        Case{R"({"b\n":1,"b\t":2,"aa":3,"":4})", R"({"b\t":2,"aa":3,"":4})"},
        Case{R"(["a",true,null,-1,18446744073709551615,[],{}])",
             R"(["a",true,null,-1,18446744073709551615,[],{}])"},
        Case{R"({"c":1,"c":2})", R"({"c":2})"}, Case{"7", "7"}}) {
    const auto kept = ParseWithout(c.text, kNames);

    ASSERT_TRUE(kept.has_value()) << c.text << ": " << kept.error().message;
    EXPECT_EQ(Write(*kept), c.kept);
    EXPECT_EQ(ParseWithout(c.text, {}), Parse(c.text));
  }
}

TEST(Json, WhatIsLeftOutMustBeJsonAsWell) {
  constexpr std::string_view kNames[] = {"a"};
  const std::string deep = R"({"a":)" + std::string(40, '[') + std::string(40, ']') + "}";

  for (const std::string& text : {std::string(R"({"a":[})"), std::string(R"({"a":1} 2)"),
                                  std::string(R"({"a":)"), std::string(), deep}) {
    EXPECT_EQ(ParseWithout(text, kNames).error(), Parse(text).error()) << text;
  }
}

TEST(Json, ErrorsNameTheOffset) {
  struct Row {
    std::string_view text;
    std::string_view message;
  };
  const Row rows[] = {
      {"", "JSON, offset 0: incomplete JSON"},      {"{", "JSON, offset 1: incomplete JSON"},
      {"{\"a\":}", "JSON, offset 5: syntax error"}, {"1 2", "JSON, offset 2: extra data"},
      {"\"\xFF\"", "JSON, offset 1: syntax error"}, {"nul", "JSON, offset 3: incomplete JSON"},
  };

  for (const Row& row : rows) {
    const Result<Value> result = Parse(row.text);
    ASSERT_FALSE(result) << row.text;
    EXPECT_EQ(result.error(), (Error{Reason::kInvalid, std::string(row.message)})) << row.text;
  }
}

TEST(Json, WhiteSpaceAroundTheValueIsFine) {
  EXPECT_EQ(Parse(" \n[1] \n").value(), Value(Array{1}));
}

TEST(Json, NestingIsLimited) {
  EXPECT_TRUE(Parse(std::string(32, '[') + std::string(32, ']')));
  EXPECT_FALSE(Parse(std::string(33, '[') + std::string(33, ']')));
  EXPECT_FALSE(Parse(std::string(1'000'000, '[')));
}

TEST(Json, BytesThatAreNotUtf8AreReplaced) {
  const Value value = Object{{"a\xFF", "\xC3\xA9 \xC3("}};

  EXPECT_EQ(Write(value), "{\"a\uFFFD\":\"\u00E9 \uFFFD(\"}");
  EXPECT_EQ(WritePretty(value), "{\n  \"a\uFFFD\": \"\u00E9 \uFFFD(\"\n}\n");
}

TEST(Json, MembersAreFoundByNameAndType) {
  const Value value = Parse(R"({"s":"x","i":-1,"u":5,"b":true,"a":[1],"o":{"k":1}})").value();
  const Object& object = value.as_object();

  EXPECT_EQ(GetString(object, "s"), "x");
  EXPECT_EQ(GetInt(object, "i"), -1);
  EXPECT_EQ(GetInt(object, "u"), 5);
  EXPECT_EQ(GetBool(object, "b"), true);
  ASSERT_NE(GetArray(object, "a"), nullptr);
  EXPECT_EQ(*GetArray(object, "a"), Array{1});
  ASSERT_NE(GetObject(object, "o"), nullptr);
  EXPECT_EQ(GetInt(*GetObject(object, "o"), "k"), 1);
}

TEST(Json, MembersOfAnotherTypeAreNotThere) {
  const Value value = Parse(R"({"s":"x","big":18446744073709551615,"half":0.5})").value();
  const Object& object = value.as_object();

  EXPECT_EQ(GetString(object, "missing"), std::nullopt);
  EXPECT_EQ(GetInt(object, "s"), std::nullopt);
  EXPECT_EQ(GetInt(object, "big"), std::nullopt);
  EXPECT_EQ(GetInt(object, "half"), std::nullopt);
  EXPECT_EQ(GetBool(object, "s"), std::nullopt);
  EXPECT_EQ(GetArray(object, "s"), nullptr);
  EXPECT_EQ(GetObject(object, "s"), nullptr);
  EXPECT_EQ(GetString(object, "big"), std::nullopt);
}

}  // namespace
}  // namespace tessera::json
