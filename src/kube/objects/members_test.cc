// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/members.h"

#include <gtest/gtest.h>

namespace tessera::kube {
namespace {

json::Object Parsed(std::string_view text) {
  return json::Parse(text).value().as_object();
}

TEST(MembersTest, WhatIsMissingOrNullIsEmpty) {
  for (const char* text : {"{}", R"({"a":null})"}) {
    const json::Object object = Parsed(text);
    std::string excess;

    EXPECT_EQ(Member(object, "a"), nullptr) << text;
    EXPECT_EQ(TextIn(object, "a").value(), "") << text;
    EXPECT_FALSE(FlagIn(object, "a").value()) << text;
    EXPECT_TRUE(ObjectIn(object, "a").value()->empty()) << text;
    EXPECT_TRUE(ObjectsIn(object, "a").value().empty()) << text;
    EXPECT_EQ(NeededTextIn(object, "a").error(), (Error{Reason::kInvalid, "a is missing"})) << text;
    EXPECT_TRUE(TextsIn(
                    object, "a", [](std::string_view) { return true; }, excess)
                    .value()
                    .empty())
        << text;
  }
}

TEST(MembersTest, WhatIsOfAnotherTypeIsSaid) {
  const json::Object object = Parsed(R"({"a":7,"l":[{},7],"t":{"x":7}})");
  std::string excess;

  EXPECT_EQ(TextIn(object, "a").error().message, "a is not a string");
  EXPECT_EQ(FlagIn(object, "a").error().message, "a is not true or false");
  EXPECT_EQ(ObjectIn(object, "a").error().message, "a is not an object");
  EXPECT_EQ(ObjectsIn(object, "a").error().message, "a is not a list");
  EXPECT_EQ(ObjectsIn(object, "l").error().message, "l[1] is not an object");
  const auto all = [](std::string_view) { return true; };
  EXPECT_EQ(TextsIn(object, "t", all, excess).error().message, "t: x is not a string");
}

TEST(MembersTest, OfTextsThoseThatAreWantedAreRead) {
  const json::Object object = Parsed(R"({"t":{"x/a":"1","y":7,"x/b":40000}})");
  std::string excess;

  const auto texts =
      TextsIn(object, "t", [](std::string_view name) { return name.starts_with("x/"); }, excess);

  EXPECT_EQ(texts.value(), (Texts{{"x/a", "1"}}));
  EXPECT_EQ(excess, "t: x/b has 40000 bytes, at most 32768 are read");
  EXPECT_EQ(TextsIn(object, "t", {}, excess).value(), Texts());
  EXPECT_EQ(CostOf(*texts), 164U);
}

TEST(MembersTest, MetadataIsAnObjectsOrNone) {
  const json::Value whole = Parsed(R"({"metadata":{}})");
  EXPECT_NE(MetadataIn(whole), nullptr);
  EXPECT_EQ(MetadataIn(Parsed(R"({"metadata":7})")), nullptr);
  EXPECT_EQ(MetadataIn(json::Value(7)), nullptr);
}

}  // namespace
}  // namespace tessera::kube
