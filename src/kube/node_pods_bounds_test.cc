// SPDX-License-Identifier: Apache-2.0
// Limits on the number and the content of pods.
#include <cstring>

#include "kube/node_pods.h"
#include "kube/node_pods_under_test.h"

namespace tessera::kube {
namespace {

TEST_F(NodePodsTest, OfManyLargePodsThoseBeyondTheBoundAreKeptWithoutTheirTexts) {
  std::vector<Made> pods;
  for (int i = 0; i < 300; ++i) {
    pods.push_back(
        {fmt::format("p{}", i), fmt::format("u{}", i), "1", "", std::string(30'000, 'x')});
  }
  pods.push_back({"small", "u", "1", "", "hami-core"});
  lists_ = {PageOf("10", pods)};
  ASSERT_TRUE(Begin());

  size_t bytes = 0, without = 0;
  for (const auto& [uid, pod] : pods_->pods()) {
    bytes += pod->Annotation("nvidia.com/vgpu-mode").size();
    without += pod->excess.empty() ? 0 : 1;
  }
  EXPECT_LE(bytes, NodePods::kMostOfLarge);
  EXPECT_GE(bytes, NodePods::kMostOfLarge * 9 / 10);
  EXPECT_EQ(bytes, (300 - without) * 30'000 + std::strlen("hami-core"));
  EXPECT_EQ(pods_->Find("u")->Annotation("nvidia.com/vgpu-mode"), "hami-core");
}

TEST_F(NodePodsTest, OfManyPodsOfManyContainersThoseBeyondTheBoundAreKeptWithoutThem) {
  limits_.attempt = limits_.deadline = kPatience;  // a page of megabytes, read under a sanitizer
  std::vector<Made> pods;
  for (int i = 0; i < 300; ++i) {
    Made pod{fmt::format("p{}", i), fmt::format("u{}", i), "1"};
    pod.sidecars = 150;
    pods.push_back(pod);
  }
  pods.push_back({"small", "u", "1"});
  lists_ = {PageOf("10", pods)};
  ASSERT_TRUE(Begin());

  size_t containers = 0, without = 0;
  for (const auto& [uid, pod] : pods_->pods()) {
    containers += pod->containers.size();
    without += pod->excess.empty() ? 0 : 1;
  }
  EXPECT_EQ(containers, (300 - without) * 151 + 1);
  EXPECT_LT(containers, NodePods::kMostOfLarge / 400);
  EXPECT_GT(without, 100U);
  EXPECT_EQ(pods_->Find("u")->containers.size(), 1U);
}

TEST_F(NodePodsTest, MorePodsThanANodeHasAreNotKeptAndTheLogIsNotFilled) {
  std::vector<Made> pods;
  for (size_t i = 0; i < NodePods::kMostPods + 100; ++i) {
    pods.push_back({fmt::format("p{}", i), fmt::format("u{}", i), "1"});
  }
  lists_ = {PageOf("10", pods)};
  ASSERT_TRUE(Begin());

  EXPECT_EQ(pods_->pods().size(), NodePods::kMostPods);
  EXPECT_EQ(pods_->Find("u4050"), nullptr);
  ASSERT_FALSE(logged_.empty());
  EXPECT_LE(logged_.size(), 25U);
  EXPECT_NE(logged_[0].find("pod d/p4000 exceeds the 4000 pods that are kept of a node"),
            std::string::npos)
      << logged_[0];
}

TEST_F(NodePodsTest, PodsThatComeAndGoDoNotFillTheLog) {
  lists_ = {PageOf("10", {})};
  ASSERT_TRUE(Begin());
  std::string events;
  for (int i = 0; i < 1'000; ++i) {
    Made pod{fmt::format("p{}", i), fmt::format("u{}", i), "11"};
    pod.broken = true;
    events += PodEvent("ADDED", pod) + PodEvent("DELETED", pod);
  }
  stream_->Send(events + PodEvent("ADDED", {"last", "u", "12"}));

  ASSERT_TRUE(RunUntilTold(1));
  EXPECT_GE(logged_.size(), 20U);
  EXPECT_LE(logged_.size(), 25U);
}

}  // namespace
}  // namespace tessera::kube
