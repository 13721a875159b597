// SPDX-License-Identifier: Apache-2.0
#include "kube/metadata_patch.h"

#include "kube/fake_cluster_test.h"

namespace tessera::kube {
namespace {

using MetadataPatchTest = ClusterTest;

TEST(MetadataPatch, SetsAndTakesAway) {
  const MetadataPatch patch{.labels = {{"hami.io/vgpu-node", "n1"}},
                            .annotations = {{"a", "1"}, {"b", std::nullopt}, {"c", ""}}};

  EXPECT_EQ(json::Write(patch.Json()), R"({"metadata":{"labels":{"hami.io/vgpu-node":"n1"},)"
                                       R"("annotations":{"a":"1","b":null,"c":""}}})");
}

TEST(MetadataPatch, NamesTheVersionAndTheObjectThatAreMeant) {
  const MetadataPatch patch{
      .annotations = {{"a", "1"}}, .resource_version = "17", .uid = "0b7d5a44"};

  EXPECT_EQ(json::Write(patch.Json()),
            R"({"metadata":{"uid":"0b7d5a44","resourceVersion":"17","annotations":{"a":"1"}}})");
}

TEST(MetadataPatch, IsEmptyWhereNothingChanges) {
  EXPECT_TRUE((MetadataPatch{.resource_version = "17", .uid = "x"}).empty());
  EXPECT_FALSE((MetadataPatch{.labels = {{"a", std::nullopt}}}).empty());
  EXPECT_FALSE((MetadataPatch{.annotations = {{"a", std::nullopt}}}).empty());
}

TEST_F(MetadataPatchTest, AVersionThatIsNoMoreIsAConflict) {
  AnswerWith({Refusal(409, "Conflict", "the object has been modified")});
  const json::Value patch =
      MetadataPatch{.annotations = {{"a", "1"}}, .resource_version = "17"}.Json();

  const auto written = Await<json::Value>([&](auto answer) {
    client().Patch(PatchType::kMerge, PodPath("default", "p"), patch, Few(), answer);
  });

  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().reason, Reason::kApiConflict);
  EXPECT_EQ(Targets(), std::vector<std::string>{"PATCH /api/v1/namespaces/default/pods/p"});
  EXPECT_EQ(asked_[0].headers["content-type"], "application/merge-patch+json");
  EXPECT_EQ(asked_[0].body, R"({"metadata":{"resourceVersion":"17","annotations":{"a":"1"}}})");
}

}  // namespace
}  // namespace tessera::kube
