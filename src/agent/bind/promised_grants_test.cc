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

constexpr Steady kNow{Duration(5)};

class PromisedGrantsTest : public testing::Test {
 protected:
  std::string Find(std::vector<std::string> ids, const std::string& resource = "a.com/b") {
    const auto found = promised_.Find(resource, std::move(ids), kNow);
    return found ? found->annotations.at(kGrantAnnotation) : "none";
  }
  void Put(const std::string& id, const std::string& name, Steady now) {
    promised_.Put("a.com/b", {id}, Named(name), now);
  }
  PromisedGrants promised_;
};

TEST_F(PromisedGrantsTest, AreFoundByExactlyTheirIdsInAnyOrder) {
  promised_.Put("a.com/b", {"2", "1"}, Named("one"), kNow);

  EXPECT_EQ(Find({"1", "2"}), "one");
  EXPECT_EQ(Find({"2", "1"}), "one");
  EXPECT_EQ(Find({"1"}), "none");
  EXPECT_EQ(Find({"1", "2", "3"}), "none");
  EXPECT_EQ(Find({}), "none");
  EXPECT_EQ(Find({"1", "2"}, "a.com/c"), "none");
}

TEST_F(PromisedGrantsTest, WhatWasHandedOutAgainIsNoLongerTheFormerGrants) {
  promised_.Put("a.com/b", {"1", "2"}, Named("one"), kNow);
  promised_.Put("a.com/b", {"1", "2"}, Named("two"), kNow);
  EXPECT_EQ(Find({"1", "2"}), "two");

  promised_.Put("a.com/b", {"2"}, Named("three"), kNow);
  EXPECT_EQ(Find({"1", "2"}), "none");
  EXPECT_EQ(Find({"1"}), "none");
  EXPECT_EQ(Find({"2"}), "three");
}

TEST_F(PromisedGrantsTest, WhatWasHandedOutAfterSomebodyWasSeenWithItIsNotHis) {
  Put("1", "one", kNow + Duration(1));
  EXPECT_EQ(Find({"1"}), "none");
  Put("1", "two", kNow);
  EXPECT_EQ(Find({"1"}), "two");
}

TEST_F(PromisedGrantsTest, OfAnAnswerItsAnnotationsAndMountsAreKept) {
  Grant answer = Named("one");
  answer.mounts = {{.host_path = "/a", .container_path = "/b"}};
  const Grant kept = answer;
  answer.envs = {{"A", "1"}};
  answer.devices = {{.host_path = "/dev/a", .container_path = "/dev/a"}};
  answer.cdi_devices = {"ab.com/grant=one"};
  promised_.Put("a.com/b", {"1"}, answer, kNow);

  EXPECT_EQ(*promised_.Find("a.com/b", {"1"}, kNow), kept);
}

}  // namespace
}  // namespace tessera::agent
