// SPDX-License-Identifier: Apache-2.0
#include "hami/members.h"

#include <gtest/gtest.h>

namespace tessera::hami {
namespace {

json::Value Parsed(std::string_view text) {
  auto value = json::Parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *std::move(value) : json::Value();
}

template <class Member>
std::string ErrorOfMember(std::string_view text, Member member = {}) {
  const json::Value value = Parsed(text);
  const auto read = ReadMember(value.get_object(), "x", member);
  return read ? "" : read.error().message;
}

TEST(ReadMember, ReadsEachType) {
  const json::Value value =
      Parsed(R"({"text":"a","flag":true,"small":-1,"count":4294967295,"large":-9000000000})");
  const json::Object& object = value.get_object();
  std::string text;
  bool flag = false;
  int32_t small = 0;
  uint32_t count = 0;
  int64_t large = 0;
  EXPECT_TRUE(ReadMember(object, "text", text));
  EXPECT_TRUE(ReadMember(object, "flag", flag));
  EXPECT_TRUE(ReadMember(object, "small", small));
  EXPECT_TRUE(ReadMember(object, "count", count));
  EXPECT_TRUE(ReadMember(object, "large", large));
  EXPECT_EQ(text, "a");
  EXPECT_EQ(flag, true);
  EXPECT_EQ(small, -1);
  EXPECT_EQ(count, 4'294'967'295);
  EXPECT_EQ(large, -9'000'000'000);
}

TEST(ReadMember, MissingAndNullLeaveWhatIsThere) {
  const json::Value value = Parsed(R"({"x":null})");
  int32_t number = 7;
  EXPECT_TRUE(ReadMember(value.get_object(), "x", number));
  EXPECT_TRUE(ReadMember(value.get_object(), "y", number));
  EXPECT_EQ(number, 7);
}

TEST(ReadMember, AnotherTypeIsRefused) {
  EXPECT_EQ(ErrorOfMember<std::string>(R"({"x":1})"), "x is not a string");
  EXPECT_EQ(ErrorOfMember<bool>(R"({"x":"true"})"), "x is not true or false");
  EXPECT_EQ(ErrorOfMember<int32_t>(R"({"x":1.5})"), "x is not a whole number");
  EXPECT_EQ(ErrorOfMember<int64_t>(R"({"x":18446744073709551615})"), "x is not a whole number");
  EXPECT_EQ(ErrorOfMember<uint32_t>(R"({"x":-1})"), "x is -1, not between 0 and 4294967295");
}

Result<int32_t> ReadOne(const json::Value& value) {
  const json::Object& object = *TRY(AsObject(value));
  int32_t one = 0;
  TRY(ReadMember(object, "x", one));
  return one;
}

TEST(ReadList, ReadsEachAndSaysWhichIsWrong) {
  std::vector<int32_t> read;
  EXPECT_TRUE(ReadList(Parsed(R"([{"x":1},{}])"), "one", ReadOne, read));
  EXPECT_EQ(read, (std::vector{1, 0}));
  EXPECT_TRUE(ReadList(Parsed("null"), "one", ReadOne, read));
  EXPECT_EQ(ReadList(Parsed("{}"), "one", ReadOne, read).error().message, "ones are not a list");
  EXPECT_EQ(ReadList(Parsed("[]"), "one", ReadOne, read).has_value(), true);
  std::vector<int32_t> none;
  EXPECT_EQ(ReadList(Parsed(R"([{"x":1},2])"), "one", ReadOne, none).error().message,
            "one 1: not an object");
}

}  // namespace
}  // namespace tessera::hami
