// SPDX-License-Identifier: Apache-2.0
#include "config/schema/key.h"

#include <gtest/gtest.h>

namespace tessera::config {
namespace {

int described = 0;

TEST(KeysTest, AreDescribedOnceForAllCopiesAndOnlyWhenLookedAt) {
  described = 0;
  const Key key{.name = "state", .type = Type::kSection, .children = [] {
                  ++described;
                  return std::vector<Key>{{.name = "dir", .type = Type::kPath}};
                }};
  const Key copy = key;  // NOLINT(performance-unnecessary-copy-initialization): that is it
  EXPECT_EQ(described, 0);

  EXPECT_EQ(key.ChildNames(), std::vector<std::string>{"dir"});
  EXPECT_EQ(copy.ChildNames(), std::vector<std::string>{"dir"});
  EXPECT_EQ(described, 1);
}

TEST(KeysTest, OfAScalarAreNone) {
  const Key key{.name = "dir", .type = Type::kPath};
  EXPECT_TRUE(key.children.empty());
  EXPECT_EQ(key.Child("dir"), nullptr);
}

}  // namespace
}  // namespace tessera::config
