// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/metadata.h"

#include <gtest/gtest.h>

namespace tessera::kube {
namespace {

using TextsByKey = std::map<std::string, std::string>;

TEST(MetadataTest, IsReadFromAnObjectAsTheApiServerHasIt) {
  const json::Value node =
      json::Parse(R"({"metadata":{"labels":{"a":"1","b":2},"annotations":{"c":"3"},)"
                  R"("resourceVersion":"7"}})")
          .value();
  const Metadata read = MetadataOf(node);

  EXPECT_EQ(read.labels, (TextsByKey{{"a", "1"}}));
  EXPECT_EQ(read.annotations, (TextsByKey{{"c", "3"}}));
  EXPECT_EQ(read.resource_version, "7");
  for (const char* other :
       {"null", "[]", "{}", R"({"metadata":7})", R"({"metadata":{"labels":[]}})"}) {
    EXPECT_EQ(MetadataOf(json::Parse(other).value()).labels, TextsByKey()) << other;
  }
}

}  // namespace
}  // namespace tessera::kube
