// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/cluster_node.h"

#include <gtest/gtest.h>

#include "json/reader.h"

namespace tessera::kube {
namespace {

ClusterNodeFields WantedOfNodes() {
  return {.label = [](std::string_view name) { return name == "zone"; },
          .annotation = [](std::string_view name) { return name.starts_with("hami.io/"); },
          .resource = [](std::string_view name) { return name.starts_with("nvidia.com/"); }};
}

// As an API server sends it.
Result<ClusterNode> ReadNodeText(const std::string& text) {
  const Form form = ClusterNodeForm(WantedOfNodes());
  json::Reader reader(form.shape, form.most);
  TRY(reader.Add(text));
  return ReadClusterNode(TRY(reader.End()), WantedOfNodes());
}

TEST(ClusterNodeTest, WhatIsWantedIsKept) {
  const auto node = ReadNodeText(
      R"({"metadata":{"name":"n1","uid":"u1","resourceVersion":"7",)"
      R"("labels":{"zone":"a","other":"b"},)"
      R"("annotations":{"hami.io/node-nvidia-register":"[]","other":"c"},"managedFields":[{}]},)"
      R"("spec":{"unschedulable":true,"podCIDR":"10.0.0.0/24"},)"
      R"("status":{"allocatable":{"cpu":"8","nvidia.com/gpu":"80"},"conditions":[{}]}})");

  ASSERT_TRUE(node.has_value()) << node.error().message;
  EXPECT_EQ(*node, (ClusterNode{.name = "n1",
                                .uid = "u1",
                                .labels = {{"zone", "a"}},
                                .annotations = {{"hami.io/node-nvidia-register", "[]"}},
                                .unschedulable = true,
                                .allocatable = {{"nvidia.com/gpu", "80"}}}));
}

TEST(ClusterNodeTest, OfOneOfWhichNothingIsWantedThereIsTheName) {
  const json::Value object =
      json::Parse(R"({"metadata":{"name":"n1","uid":"u1","labels":{"a":"b"}},)"
                  R"("status":{"allocatable":{"cpu":"8"}}})")
          .value();

  EXPECT_EQ(ReadClusterNode(object, {}).value(), (ClusterNode{.name = "n1", .uid = "u1"}));
}

TEST(ClusterNodeTest, AHeartbeatChangesNothing) {
  const std::string first = R"({"metadata":{"name":"n1","uid":"u1","resourceVersion":"7"},)"
                            R"("status":{"conditions":[{"lastHeartbeatTime":"1"}]}})";
  const std::string later = R"({"metadata":{"name":"n1","uid":"u1","resourceVersion":"8"},)"
                            R"("status":{"conditions":[{"lastHeartbeatTime":"2"}]}})";

  EXPECT_EQ(ReadNodeText(first).value(), ReadNodeText(later).value());
}

TEST(ClusterNodeTest, ABrokenOneIsSaidByItsNameAndField) {
  const auto error = [](const std::string& text) { return ReadNodeText(text).error().message; };

  EXPECT_EQ(error("[]"), "a node is not an object");
  EXPECT_EQ(error("{}"), "a node without a name: metadata: name is missing");
  EXPECT_EQ(error(R"({"metadata":{"name":"n1"}})"), "node n1: metadata: uid is missing");
  EXPECT_EQ(error(R"({"metadata":{"name":"n1","uid":"u"},"spec":{"unschedulable":"no"}})"),
            "node n1: spec: unschedulable is not true or false");
  EXPECT_EQ(error(R"({"metadata":{"name":"n1","uid":"u"},"status":{"allocatable":[]}})"),
            "node n1: status: allocatable is not an object");
}

TEST(ClusterNodeTest, WhatIsOverItsBoundIsSaid) {
  const auto with = [](const std::string& annotations) {
    return fmt::format(R"({{"metadata":{{"name":"n1","uid":"u1","annotations":{{{}}}}}}})",
                       annotations);
  };
  const std::string long_text(33'000, 'x');
  const std::string large_text(32'000, 'x');

  EXPECT_EQ(ReadNodeText(with(fmt::format(R"("hami.io/a":"{}")", long_text))).value().excess,
            "annotations: hami.io/a has 33000 bytes, at most 32768 are read");
  const ClusterNode cut =
      ReadNodeText(with(fmt::format(R"("hami.io/a":"{0}","hami.io/b":"{0}","hami.io/c":"{0}",)"
                                    R"("hami.io/d":"{0}")",
                                    large_text)))
          .value();
  EXPECT_EQ(cut.excess, "its fields that are read have more than 98304 bytes");
  EXPECT_LT(CostOf(cut), size_t{100'000});
}

}  // namespace
}  // namespace tessera::kube
