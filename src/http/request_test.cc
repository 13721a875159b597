// SPDX-License-Identifier: Apache-2.0
#include "http/request.h"

#include <gtest/gtest.h>

namespace tessera::http {
namespace {

using Query = std::map<std::string, std::string>;

const Error kRefusal{Reason::kInvalid, "the query cannot be decoded"};

Result<Request> Read(const char* path, const char* query) {
  return ReadRequest("GET", path, query, "");
}

TEST(RequestTest, WithoutAPathItIsTheRoot) {
  EXPECT_EQ(Read(nullptr, nullptr)->path, "/");
  EXPECT_EQ(Read("", nullptr)->path, "/");
}

TEST(RequestTest, AQueryIsDecoded) {
  EXPECT_EQ(Read("/explain", "device=a.com%2Fnpu/7+%26%2B&x=")->query,
            (Query{{"device", "a.com/npu/7 &+"}, {"x", ""}}));
}

TEST(RequestTest, OfTwoValuesWithOneNameTheLastCounts) {
  EXPECT_EQ(Read("/explain", "device=1&device=2")->query, (Query{{"device", "2"}}));
}

TEST(RequestTest, AQueryWithoutNamesAndValuesIsRefused) {
  for (const char* query : {"device", "=1", "&a=1"}) {
    const auto request = Read("/explain", query);
    ASSERT_FALSE(request) << query;
    EXPECT_EQ(request.error(), kRefusal) << query;
  }
}

TEST(RequestTest, AValueIsNotCutShortAtAZero) {
  const auto request = Read("/explain", "device=0%00x");

  ASSERT_FALSE(request);
  EXPECT_EQ(request.error(), kRefusal);
  EXPECT_EQ(Read("/explain", "device=%2500")->query, (Query{{"device", "%00"}}));
}

}  // namespace
}  // namespace tessera::http
