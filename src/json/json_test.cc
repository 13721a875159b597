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

TEST(Json, WhatYamlRefusesIsEscapedInKeysAndTexts) {
  const Value value = Object{{"a\x7F", "\u0085"}};

  EXPECT_EQ(Write(value), R"({"a\u007f":"\u0085"})");
  EXPECT_EQ(WritePretty(value), "{\n  \"a\\u007f\": \"\\u0085\"\n}\n");
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
