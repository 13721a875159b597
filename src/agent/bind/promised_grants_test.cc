// SPDX-License-Identifier: Apache-2.0
#include "agent/bind/promised_grants.h"

#include <gtest/gtest.h>

namespace tessera::agent {
namespace {

Grant Named(const std::string& name) {
  Grant grant;
  grant.annotations[kGrantAnnotation] = name;
  return grant;
}

class PromisedGrantsTest : public testing::Test {
 protected:
  std::string Find(std::vector<std::string> ids, const std::string& resource = "a.com/b") {
    const auto found = promised_.Find(resource, std::move(ids));
    return found ? found->annotations.at(kGrantAnnotation) : "none";
  }
  PromisedGrants promised_;
};

TEST_F(PromisedGrantsTest, AreFoundByExactlyTheirIdsInAnyOrder) {
  promised_.Put("a.com/b", {"2", "1"}, Named("one"));

  EXPECT_EQ(Find({"1", "2"}), "one");
  EXPECT_EQ(Find({"2", "1"}), "one");
  EXPECT_EQ(Find({"1"}), "none");
  EXPECT_EQ(Find({"1", "2", "3"}), "none");
  EXPECT_EQ(Find({}), "none");
  EXPECT_EQ(Find({"1", "2"}, "a.com/c"), "none");
}

TEST_F(PromisedGrantsTest, WhatWasHandedOutAgainIsNoLongerTheFormerGrants) {
  promised_.Put("a.com/b", {"1", "2"}, Named("one"));
  promised_.Put("a.com/b", {"1", "2"}, Named("two"));
  EXPECT_EQ(Find({"1", "2"}), "two");

  promised_.Put("a.com/b", {"2"}, Named("three"));
  EXPECT_EQ(Find({"1", "2"}), "none");
  EXPECT_EQ(Find({"1"}), "none");
  EXPECT_EQ(Find({"2"}), "three");
}

}  // namespace
}  // namespace tessera::agent
