// SPDX-License-Identifier: Apache-2.0
#include "http/target.h"

#include <gtest/gtest.h>

namespace tessera::http {
namespace {

TEST(WriteTarget, WithoutAQueryItIsThePath) {
  EXPECT_EQ(WriteTarget("/inventory", {}), "/inventory");
}

TEST(WriteTarget, QueryIsEncoded) {
  EXPECT_EQ(WriteTarget("/explain", {{"device", "a.com/b c/7"}, {"x", "&=%\n"}}),
            "/explain?device=a.com%2Fb%20c%2F7&x=%26%3D%25%0A");
}

}  // namespace
}  // namespace tessera::http
