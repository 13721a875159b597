// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/metadata.h"

#include <gtest/gtest.h>

namespace tessera::kube {
namespace {

using Pairs = std::map<std::string, std::string>;

TEST(MetadataTest, IsReadFromAnObjectAsTheApiServerHasIt) {
  const json::Value node =
      json::Parse(R"({"metadata":{"labels":{"a":"1","b":2},"annotations":{"c":"3"},)"
                  R"("resourceVersion":"7"}})")
          .value();
  const Metadata read = MetadataOf(node);

  EXPECT_EQ(read.labels, (Pairs{{"a", "1"}}));
  EXPECT_EQ(read.annotations, (Pairs{{"c", "3"}}));
  EXPECT_EQ(read.resource_version, "7");
  for (const char* other :
       {"null", "[]", "{}", R"({"metadata":7})", R"({"metadata":{"labels":[]}})"}) {
    EXPECT_EQ(MetadataOf(json::Parse(other).value()).labels, Pairs()) << other;
  }
}

TEST(MetadataTest, AnObjectsKeyIsItsNamespaceAndName) {
  const auto parse = [](const char* text) { return json::Parse(text).value(); };

  EXPECT_EQ(ObjectKeyIn(parse(R"({"metadata":{"namespace":"d","name":"p"}})")), "d/p");
  EXPECT_EQ(ObjectKeyIn(parse(R"({"metadata":{"name":"n1","uid":"u"}})")), "n1");
  EXPECT_EQ(UidIn(parse(R"({"metadata":{"name":"n1","uid":"u"}})")), "u");
  for (const char* text : {"7", "{}", R"({"metadata":7})", R"({"metadata":{"uid":7,"name":7}})"}) {
    EXPECT_EQ(ObjectKeyIn(parse(text)), "") << text;
    EXPECT_EQ(UidIn(parse(text)), "") << text;
  }
}

}  // namespace
}  // namespace tessera::kube
