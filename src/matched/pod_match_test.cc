// SPDX-License-Identifier: Apache-2.0
#include "matched/pod_match.h"

#include <gtest/gtest.h>

#include "binding/container_match.h"
#include "fraction/grant_requests_under_test.h"

namespace tessera {
namespace {

using Kind = kube::Container::Kind;

class PodMatchTest : public GrantRequestsTest {
 protected:
  // The match among the known pods as "POD CONTAINER PARTS", or the error.
  std::string Matched(const std::vector<std::string>& ids) {
    std::vector<PodPtr> pods;
    for (const auto& [uid, pod] : pods_) pods.push_back(pod);
    const auto match = MatchPod(pods, answered_, offer_, *rendering_.fractions, ids);
    if (!match) {
      return fmt::format("{}: {}", ReasonName(match.error().reason), match.error().message);
    }
    return fmt::format("{} {} {}", match->pod_uid, match->container, PartsText(match->parts));
  }
  // "GPU=MEMORY:CORES"
  std::string Part(size_t gpu, const std::string& sizes) const { return Gpu(gpu) + "=" + sizes; }

  ContainerClaims::Answered answered_;
};

TEST_F(PodMatchTest, ItIsTheOnlyContainerThatWaitsWithThatManyGpus) {
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  kube::Container two = Asking("two", 100, 10);
  two.limits[kGpu] = "2";
  Know("uid-2", {two}, Chosen(0, 100, 10) + Chosen(1, 100, 10) + ";");

  EXPECT_EQ(Matched({Share(0, 0)}), "uid-1 app " + Part(1, "300:30"));
  EXPECT_EQ(Matched({Share(0, 1), Share(0, 2)}),
            "uid-2 two " + Part(0, "100:10") + "," + Part(1, "100:10"));
}

TEST_F(PodMatchTest, ThoseOfAPodComeOneAfterTheOtherAsItsSpecificationHasThem) {
  Know("uid-1",
       {Asking("init", 100, 10, Kind::kInit),
        Asking("side", 200, 20, Kind::kSidecar),
        {.name = "without"},
        Asking("app", 300, 30)},
       Chosen(0, 100, 10) + ";" + Chosen(0, 200, 20) + ";" + Chosen(1, 300, 30) + ";");

  EXPECT_EQ(Matched({Share(0, 0)}), "uid-1 init " + Part(0, "100:10"));
  answered_.insert({"uid-1", "init"});
  EXPECT_EQ(Matched({Share(0, 1)}), "uid-1 side " + Part(0, "200:20"));
  answered_.insert({"uid-1", "side"});
  EXPECT_EQ(Matched({Share(0, 2)}), "uid-1 app " + Part(1, "300:30"));
  answered_.insert({"uid-1", "app"});
  EXPECT_EQ(Matched({Share(0, 3)}),
            "not-matched: nvidia.com/gpu: without CDI the agent must know the container at "
            "Allocate, but the API server reports none that waits for 1 GPUs");
}

TEST_F(PodMatchTest, OfSeveralThatMayBeMeantItIsNobody) {
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(0, 300, 30) + ";");
  Know("uid-2", {Asking("app", 300, 30)}, Chosen(0, 300, 30) + ";");
  EXPECT_EQ(
      Matched({Share(0, 0)}),
      "not-matched: nvidia.com/gpu: without CDI the agent must know the container at Allocate, but "
      "it may be container app of pod team/pod-uid-1 or container app of pod team/pod-uid-2");
}

TEST_F(PodMatchTest, OneThatIsToGetNothingMayBeMeantAsWell) {
  Know("uid-1", {Asking("app", 300, 30)}, "");
  EXPECT_EQ(Matched({Share(0, 0)}),
            "not-placed: nvidia.com/gpu: without CDI the agent assumes the only pod that waits for "
            "1 GPUs: pod team/pod-uid-1: no scheduler has chosen GPUs for it: it has no annotation "
            "hami.io/vgpu-devices-allocated");
  Know("uid-2", {Asking("app", 300, 30)}, Chosen(0, 300, 30) + ";");
  EXPECT_EQ(Matched({Share(0, 0)}).substr(0, 12), "not-matched:");
}

TEST_F(PodMatchTest, OneThatAsksForWhatNobodyCanReadMayBeMeantAsWell) {
  kube::Container odd = Asking("odd", 300, 30);
  odd.limits["nvidia.com/gpumem"] = "many";
  Know("uid-1", {odd}, Chosen(0, 300, 30) + ";");
  EXPECT_EQ(Matched({Share(0, 0)}).substr(0, 13), "bad-decision:");
  Know("uid-2", {Asking("app", 300, 30)}, Chosen(0, 300, 30) + ";");
  EXPECT_EQ(Matched({Share(0, 0)}).substr(0, 12), "not-matched:");
}

TEST_F(PodMatchTest, APodThatNobodyPlacedHasWhatItAsksForOnTheGpuOfTheIds) {
  rendering_.fractions->requests->fit_unplaced = true;
  Know("uid-1", {Asking("app", 300, 30)}, "");
  EXPECT_EQ(Matched({Share(1, 4)}), "uid-1 app " + Part(1, "300:30"));
}

TEST_F(PodMatchTest, TheDirectoryIsNamedAfterThePodAndTheContainer) {
  const kube::Pod pod{.uid = "mirror", .mirrored = "uid-1"};
  EXPECT_EQ(
      MatchOf(pod, {.name = "app", .parts = {{"GPU-1", 300, 0}}}, *rendering_.fractions).value(),
      (FractionMatch{.pod_uid = "uid-1",
                     .container = "app",
                     .parts = {{"GPU-1", 300, 0}},
                     .directory = "/usr/local/vgpu/containers/mirror_app"}));
}

}  // namespace
}  // namespace tessera
