// SPDX-License-Identifier: Apache-2.0
#include "os/address.h"

#include <gtest/gtest.h>
#include <netinet/in.h>

namespace tessera::os {
namespace {

TEST(Address, Ipv4LiteralWithPort) {
  auto address = ParseAddress("127.0.0.1:9440");

  ASSERT_TRUE(address.has_value());
  EXPECT_EQ(address->family(), AF_INET);
  EXPECT_EQ(PortOf(*address), 9440);
  EXPECT_FALSE(address->any);
}

TEST(Address, Ipv6LiteralStandsInBrackets) {
  auto address = ParseAddress("[::1]:0");

  ASSERT_TRUE(address.has_value());
  EXPECT_EQ(address->family(), AF_INET6);
  EXPECT_EQ(PortOf(*address), 0);
}

TEST(Address, NoHostMeansAll) {
  auto address = ParseAddress(":65535");

  ASSERT_TRUE(address.has_value());
  EXPECT_TRUE(address->any);
  EXPECT_EQ(PortOf(*address), 65535);
}

TEST(Address, WhatIsNotHostAndPortIsInvalid) {
  for (const char* text : {"", ":", "9440", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                           "127.0.0.1:-1", "127.0.0.1:+1", "127.0.0.1:94x"}) {
    auto address = ParseAddress(text);
    ASSERT_FALSE(address.has_value()) << text;
    EXPECT_EQ(address.error().reason, Reason::kInvalid);
    EXPECT_EQ(address.error().message,
              "'" + std::string(text) + "' is not an address of the form host:port");
  }
}

TEST(Address, NamesAreNotResolved) {
  auto address = ParseAddress("localhost:80");

  ASSERT_FALSE(address.has_value());
  EXPECT_EQ(address.error().message,
            "'localhost' in 'localhost:80' is not an address: write 127.0.0.1, [::1] or nothing "
            "for all");
}

TEST(Address, Ipv6WithoutBracketsIsInvalid) {
  EXPECT_FALSE(ParseAddress("::1:80").has_value());
}

TEST(IsAddress, LiteralsOfBothKindsAreAndNamesAreNot) {
  for (const char* host : {"127.0.0.1", "::1", "fd00::10.96.0.1"}) EXPECT_TRUE(IsAddress(host));
  for (const char* host : {"", "localhost", "[::1]", "127.0.0.1:80"}) EXPECT_FALSE(IsAddress(host));
}

}  // namespace
}  // namespace tessera::os
