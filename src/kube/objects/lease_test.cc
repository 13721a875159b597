// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/lease.h"

#include <gtest/gtest.h>

namespace tessera::kube {
namespace {

std::string HolderIn(const std::string& text) {
  const auto lease = ReadLease(*json::Parse(text));
  return lease ? lease->holder : lease.error().message;
}

TEST(LeaseTest, SaysWhoHoldsIt) {
  EXPECT_EQ(HolderIn(R"({"spec":{"holderIdentity":"pod-a_1"}})"), "pod-a_1");
}

TEST(LeaseTest, SaysHowLongItHoldsAndNotAtAllWhereItDoesNot) {
  const auto duration = [](const std::string& value) {
    return ReadLease(*json::Parse(R"({"spec":{"leaseDurationSeconds":)" + value + "}}"))->duration;
  };
  EXPECT_EQ(duration("15"), std::chrono::seconds(15));
  EXPECT_EQ(duration("null"), Duration(0));
  EXPECT_EQ(duration("\"15\""), Duration(0));
  EXPECT_EQ(duration("-1"), Duration(0));
  EXPECT_EQ(duration("9223372036854775807"), std::chrono::seconds(INT32_MAX));
}

TEST(LeaseTest, ThatIsLetGoOfIsNobodys) {
  EXPECT_EQ(HolderIn(R"({"spec":{"holderIdentity":""}})"), "");
  EXPECT_EQ(HolderIn(R"({"spec":{"holderIdentity":null}})"), "");
  EXPECT_EQ(HolderIn("{}"), "");
}

TEST(LeaseTest, WhatIsNoneIsRefused) {
  EXPECT_EQ(HolderIn("[]"), "a Lease is not an object");
  EXPECT_EQ(HolderIn(R"({"spec":{"holderIdentity":7}})"), "spec: holderIdentity is not a string");
}

TEST(LeaseTest, AHostIsNotOneWhoseNameItBegins) {
  EXPECT_TRUE(IsOfHost("host-1_1b2c", "host-1"));
  EXPECT_FALSE(IsOfHost("host-10_1b2c", "host-1"));
  EXPECT_FALSE(IsOfHost("host-1", "host-1"));
  EXPECT_FALSE(IsOfHost("host-1_a_1b2c", "host-1"));
  EXPECT_FALSE(IsOfHost("_1b2c", ""));
}

}  // namespace
}  // namespace tessera::kube
