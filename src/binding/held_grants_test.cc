// SPDX-License-Identifier: Apache-2.0
#include "binding/held_grants.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using Words = std::vector<std::string>;

kubelet::CheckpointEntry Entry(const std::string& pod, const std::string& container, Words ids) {
  return {.pod_uid = pod,
          .container = container,
          .resource = "nvidia.com/gpu",
          .ids_by_numa = {{"-1", std::move(ids)}},
          .allocate_response = ""};
}

Words NamesOf(const HeldGrants::Matches& some) {
  Words names;
  for (const HeldGrant* held : some) names.push_back(held->pod_uid + " " + held->container);
  return names;
}

TEST(HeldGrants, AreFoundByExactlyTheirIdsInAnyOrder) {
  const HeldGrants held(
      {.entries = {Entry("uid-1", "init", {"a", "b"}), Entry("uid-1", "app", {"b", "a"}),
                   Entry("uid-2", "app", {"a"})},
       .registered = {}});

  EXPECT_EQ(NamesOf(held.WithIds("nvidia.com/gpu", {"b", "a"})),
            (Words{"uid-1 init", "uid-1 app"}));
  EXPECT_EQ(NamesOf(held.WithIds("nvidia.com/gpu", {"a"})), Words{"uid-2 app"});
  EXPECT_EQ(NamesOf(held.WithIds("nvidia.com/gpu", {"b"})), Words());
  EXPECT_EQ(NamesOf(held.WithIds("nvidia.com/other", {"a"})), Words());
  EXPECT_EQ(NamesOf(held.OfPod("uid-1")), (Words{"uid-1 init", "uid-1 app"}));
  EXPECT_EQ(NamesOf(held.OfPod("uid-3")), Words());
}

TEST(CheckpointFile, IsReadAnewOnceItIsAnother) {
  const std::string directory = *os::MakeTemporaryDirectory(testing::TempDir() + "held");
  const std::string path = directory + "/checkpoint";
  CheckpointFile file(path);
  EXPECT_EQ(file.Read().error().message, "cannot look at " + path + ": No such file or directory");

  kubelet::Checkpoint checkpoint{.entries = {Entry("uid-1", "app", {"a"})}, .registered = {}};
  ASSERT_TRUE(os::ReplaceFile(path, kubelet::WriteCheckpoint(checkpoint)));
  const HeldGrantsPtr first = file.Read().value();
  EXPECT_EQ(file.Read().value(), first);
  EXPECT_EQ(first->all().size(), 1U);

  checkpoint.entries.push_back(Entry("uid-2", "app", {"b"}));
  ASSERT_TRUE(os::ReplaceFile(path, kubelet::WriteCheckpoint(checkpoint)));
  EXPECT_EQ(file.Read().value()->all().size(), 2U);
  (void)os::RemoveTree(directory);
}

TEST(CheckpointFile, OneOfAnUnknownShapeStaysSoUntilItIsAnother) {
  const std::string directory = *os::MakeTemporaryDirectory(testing::TempDir() + "held");
  const std::string path = directory + "/checkpoint";
  CheckpointFile file(path);
  ASSERT_TRUE(os::ReplaceFile(path, "[]"));
  EXPECT_TRUE(IsOfUnknownShape(file.Read()));
  EXPECT_TRUE(IsOfUnknownShape(file.Read()));

  ASSERT_TRUE(os::RemoveFile(path));
  EXPECT_FALSE(IsOfUnknownShape(file.Read()));

  ASSERT_TRUE(os::ReplaceFile(path, kubelet::WriteCheckpoint({})));
  EXPECT_TRUE(file.Read());
  ASSERT_TRUE(os::ReplaceFile(path, "{}"));
  EXPECT_EQ(file.Read().error().message, "kubelet's checkpoint: no Data");
  (void)os::RemoveTree(directory);
}

}  // namespace
}  // namespace tessera
