// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/version.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera::kube {
namespace {

std::string VersionIn(const std::string& text) {
  const auto version = ReadVersion(*json::Parse(text));
  return version ? fmt::format("{}.{}", version->major, version->minor) : version.error().message;
}

TEST(VersionTest, HasTwoNumbers) {
  EXPECT_EQ(VersionIn(R"({"major":"1","minor":"36","gitVersion":"v1.36.3"})"), "1.36");
  EXPECT_EQ(VersionIn(R"({"major":"1","minor":"29+"})"), "1.29");
}

TEST(VersionTest, AreInOrder) {
  EXPECT_LT((Version{1, 29}), (Version{1, 30}));
  EXPECT_LT((Version{1, 30}), (Version{2, 0}));
}

TEST(VersionTest, WhatIsNoneIsRefused) {
  EXPECT_EQ(VersionIn("[]"), "a version is not an object");
  EXPECT_EQ(VersionIn(R"({"major":"1"})"), "minor is missing");
  EXPECT_EQ(VersionIn(R"({"major":"1","minor":"-3"})"), "minor is -3, which is not a number");
  EXPECT_EQ(VersionIn(R"({"major":"1","minor":"99999999999"})"),
            "minor is 99999999999, which is not a number");
  EXPECT_EQ(VersionIn(R"({"major":1,"minor":"30"})"), "major is not a string");
}

}  // namespace
}  // namespace tessera::kube
