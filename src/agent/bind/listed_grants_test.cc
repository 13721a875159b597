// SPDX-License-Identifier: Apache-2.0
#include "agent/bind/listed_grants.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "agent/bind/listed_grants_under_test.h"

namespace tessera::agent {
namespace {

using Kind = kube::Container::Kind;

constexpr char kThird[] = "00000000000000000000000000000003";

TEST_F(ListedGrantsTest, AContainerGetsWhatThePodOfItsNameAsksForOnceThatWasAskedAnew) {
  Lose();
  Promise({Share(0, 1)}, kOne);
  List("pod-uid-1", "app", {Share(0, 1)});
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  EXPECT_EQ(Unknown({Share(0, 1)}), "team/pod-uid-1");
  EXPECT_EQ(Bind({Share(0, 1)}), "grant-unknown: nvidia.com/gpu: pod team/pod-uid-1 is not known");

  KnowByName("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  EXPECT_EQ(Unknown({Share(0, 1)}), "");
  EXPECT_EQ(Bind({Share(0, 1)}), "");
  EXPECT_EQ(LimitsOf(kOne), "CUDA_DEVICE_MEMORY_LIMIT_0=300m CUDA_DEVICE_SM_LIMIT=30 ");
  EXPECT_EQ(PodIn(kOne), "uid-1 app");
}

TEST_F(ListedGrantsTest, EqualPartsNeedNoPodAndStayTheContainersWhenKubeletTellsItsUid) {
  SetParts(2);
  Lose();
  Promise({Share(0, 0)}, kOne, Half(0));
  List("a", "app", {Share(0, 0)});
  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(LimitsOf(kOne), "CUDA_DEVICE_MEMORY_LIMIT_0=500m CUDA_DEVICE_SM_LIMIT=50 ");
  EXPECT_EQ(PodIn(kOne), "team/a app");
  EXPECT_TRUE(os::Exists(directory_ + "/usr/local/vgpu/containers/" + kOne));

  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  EXPECT_EQ(Bind({Share(0, 0)}), "");
  checkpoint_.entries[0].container = "other";
  Save();
  EXPECT_EQ(Bind({Share(0, 0)}),
            fmt::format("grant-unknown: grant {} is bound to container app of pod team/a, not to "
                        "other of uid-1",
                        kOne));
}

TEST_F(ListedGrantsTest, AContainerThatIsMadeAgainHasItsRecordAfterARestartOfTheAgentToo) {
  Hold("uid-1", "app", {Share(0, 1)}, AnswerNaming(kOne));
  Hold("uid-2", "app", {Share(0, 2)}, AnswerNaming(kOther));
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  ASSERT_EQ(Bind({Share(0, 1)}), "");
  Lose();
  List("pod-uid-1", "app", {Share(0, 1)});
  List("pod-uid-2", "app", {Share(0, 2)});
  ASSERT_TRUE(os::RemoveFile(directory_ + "/cdi/" + GrantFileName(kOne)));

  EXPECT_EQ(Bind({Share(0, 1)}), "");
  EXPECT_EQ(LimitsOf(kOne), "CUDA_DEVICE_MEMORY_LIMIT_0=300m CUDA_DEVICE_SM_LIMIT=30 ");
  EXPECT_EQ(Bind({Share(0, 2)}),
            kShape + std::string("this agent, since it began, has not been asked for what "
                                 "container app of pod team/pod-uid-2 holds, nor is that for sure "
                                 "what a record of it says: delete the pod"));
}

TEST_F(ListedGrantsTest, ARecordOfAFormerPodOfTheNameIsNotThePods) {
  Hold("uid-1", "app", {Share(0, 1)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  ASSERT_EQ(Bind({Share(0, 1)}), "");
  Lose();
  List("pod-uid-1", "app", {Share(0, 1)});
  kube::Pod next = *pods_["uid-1"];
  book_->Take(next);
  next.uid = "uid-9";
  book_->Put(next);
  EXPECT_EQ(Bind({Share(0, 1)}).substr(0, sizeof kShape - 1), kShape);

  Promise({Share(0, 1)}, kOther);
  pods_["uid-9"] = pods_["team/pod-uid-1"] = book_->Find("uid-9");
  EXPECT_EQ(Bind({Share(0, 1)}), "");
  EXPECT_EQ(PodIn(kOther), "uid-9 app");
  EXPECT_EQ(PodIn(kOne), "uid-1 app");
}

TEST_F(ListedGrantsTest, WhatTheListDoesNotNameIsRefused) {
  Lose();
  Promise({Share(0, 1)}, kOne);
  List("a", "app", {Share(0, 1), Share(0, 2)});

  EXPECT_EQ(Bind({Share(0, 1)}),
            kShape + fmt::format("its pod-resources API names no container that holds {}, as it "
                                 "never names init containers",
                                 Share(0, 1)));
}

TEST_F(ListedGrantsTest, WhatTwoContainersHoldIsRefused) {
  Lose();
  Promise({Share(0, 1)}, kOne);
  List("a", "app", {Share(0, 1)});
  List("b", "main", {Share(0, 1)});

  EXPECT_EQ(Bind({Share(0, 1)}),
            kShape + fmt::format("its pod-resources API has container app of pod team/a hold {}, "
                                 "and container main of pod team/b too",
                                 Share(0, 1)));
}

TEST_F(ListedGrantsTest, WhatAnInitContainerMayBeAskedForIsRefusedUntilItHasRun) {
  Lose();
  Promise({Share(0, 1)}, kOne);
  Promise({Share(0, 1)}, kOther);
  List("pod-uid-1", "app", {Share(0, 1)});
  std::vector<kube::Container> containers = {Asking("init", 300, 30, Kind::kInit),
                                             Asking("app", 200, 20)};
  const std::string chosen = Chosen(1, 300, 30) + ";" + Chosen(1, 200, 20) + ";";
  KnowByName("uid-1", containers, chosen);
  EXPECT_EQ(Bind({Share(0, 1)}),
            kShape + std::string("init container init, which nothing else tells from container "
                                 "app of pod team/pod-uid-1, has not run yet"));

  containers[0].succeeded = true;
  KnowByName("uid-1", containers, chosen);
  EXPECT_EQ(Bind({Share(0, 1)}), "");
  EXPECT_EQ(LimitsOf(kOne), "no document");
  EXPECT_EQ(LimitsOf(kOther), "CUDA_DEVICE_MEMORY_LIMIT_0=200m CUDA_DEVICE_SM_LIMIT=20 ");
}

TEST_F(ListedGrantsTest, WithoutAListNobodySaysWhichContainerItIs) {
  Lose();
  Promise({Share(0, 1)}, kOne, Half(0));

  EXPECT_EQ(Bind({Share(0, 1)}),
            "grant-unknown: nvidia.com/gpu: kubelet's checkpoint does not say which container this "
            "is: kubelet's checkpoint: no Data");
  EXPECT_TRUE(binder_->IsShapeUnknown());
  Save();
  EXPECT_NE(Bind({Share(0, 1)}), "");
  EXPECT_FALSE(binder_->IsShapeUnknown());
}

TEST_F(ListedGrantsTest, AContainerWithTwoResourcesIsRefused) {
  Lose();
  Promise({Share(0, 1)}, kOne, Half(0));
  Promise({"other-1"}, kOther, Half(0), "a.com/other");
  List("a", "app", {Share(0, 1)});
  List("a", "app", {"other-1"}, "a.com/other");

  EXPECT_EQ(Bind({Share(0, 1)}),
            "not-enforced: container app of pod team/a has virtual GPUs of a.com/other and of "
            "nvidia.com/gpu, and can be held to those of one resource alone");
}

TEST_F(ListedGrantsTest, AGrantThatNeedsNoCdiIsRefused) {
  Lose();
  Grant answer = AnswerFor(kOne, Half(0));
  answer.mounts = {{.host_path = "/usr/local/vgpu", .container_path = "/usr/local/vgpu"}};
  binder_->Promised(kGpu, {Share(0, 1)}, answer);
  List("a", "app", {Share(0, 1)});

  EXPECT_EQ(Bind({Share(0, 1)}),
            kShape + std::string("without CDI nothing else tells for sure whose the grant of "
                                 "container app of pod team/a is"));

  Promise({Share(0, 1)}, kOne, Half(0));
  EXPECT_EQ(Bind({Share(0, 1)}), "");
  rendering_.strategies = {Strategy::kEnvvar};
  EXPECT_EQ(Bind({Share(0, 1)}).substr(0, sizeof kShape - 1), kShape);
}

TEST_F(ListedGrantsTest, PodsThatWereBoundBeforeCountUntilTheApiServerHasThemNoMore) {
  Hold("uid-1", "app", {Share(0, 1)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 800, 10)}, Chosen(0, 800, 10) + ";");
  ASSERT_EQ(Bind({Share(0, 1)}), "");
  Lose();
  Promise({Share(0, 2)}, kOther);
  List("pod-uid-2", "app", {Share(0, 2)});
  KnowByName("uid-2", {Asking("app", 300, 10)}, Chosen(0, 300, 10) + ";");
  EXPECT_EQ(Bind({Share(0, 2)}),
            fmt::format("no-room: nvidia.com/gpu: device {} has 1000 MiB, of which 800 MiB and 10 "
                        "percent of its compute time are taken: 300 MiB and 10 percent more do not "
                        "fit",
                        Gpu(0)));

  book_->Take(*pods_["uid-1"]);
  EXPECT_EQ(Bind({Share(0, 2)}), "");
}

TEST_F(ListedGrantsTest, PodsOfThePluginThatWasHereBeforeCountAsTheirSchedulerHasIt) {
  Lose();
  Promise({Share(0, 2)}, kOther);
  List("pod-uid-1", "app", {Share(0, 1)});
  List("pod-uid-2", "app", {Share(0, 2)});
  Know("uid-1", {Asking("app", 800, 10)}, Chosen(0, 800, 10) + ";");
  KnowByName("uid-2", {Asking("app", 300, 10)}, Chosen(0, 300, 10) + ";");

  EXPECT_EQ(Bind({Share(0, 2)}).substr(0, 8), "no-room:");
}

TEST_F(ListedGrantsTest, ARecordThatCannotBeReadLeavesNoRoom) {
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/state/grants", 0700));
  ASSERT_TRUE(os::ReplaceFile(fmt::format("{}/state/grants/{}.json", directory_, kThird), "{}"));
  Lose();
  Promise({Share(0, 1)}, kOne, Half(0));
  List("a", "app", {Share(0, 1)});

  EXPECT_EQ(Bind({Share(0, 1)}).substr(0, 8), "no-room:");
}

TEST_F(ListedGrantsTest, AShareThatManyHadCountsOnce) {
  SetParts(2);
  Lose();
  for (const char* grant : {kOne, kOther, kThird}) {
    list_ = nullptr;
    Promise({Share(0, 0)}, grant, Half(0));
    List(std::string("pod-") + grant, "app", {Share(0, 0)});
    EXPECT_EQ(Bind({Share(0, 0)}), "");
  }
  Promise({Share(0, 1)}, "00000000000000000000000000000004", Half(0));
  List("last", "app", {Share(0, 1)});
  EXPECT_EQ(Bind({Share(0, 1)}), "");
}

TEST_F(ListedGrantsTest, NothingIsRemovedUntilItIsKnownForAMinuteThatItIsForgotten) {
  Hold("uid-1", "app", {Share(0, 1)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  ASSERT_EQ(Bind({Share(0, 1)}), "");
  checkpoint_.entries.clear();
  Save();
  RemoveForgotten();
  Lose();
  clock_.Advance(Duration(60'000));
  RemoveForgotten();
  Save();
  RemoveForgotten();
  EXPECT_NE(LimitsOf(kOne), "no document");

  clock_.Advance(Duration(60'000));
  RemoveForgotten();
  EXPECT_EQ(LimitsOf(kOne), "no document");
}

}  // namespace
}  // namespace tessera::agent
