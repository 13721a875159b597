// SPDX-License-Identifier: Apache-2.0
// Grants of the sizes that pods ask for.
#include <algorithm>

#include "fraction/grant_requests_under_test.h"

namespace tessera {
namespace {

using Kind = kube::Container::Kind;

TEST_F(GrantRequestsTest, AContainerHasWhatItsOwnPodWasGivenWhateverCardKubeletTookTheIdOf) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-2", "app", {Share(0, 1)}, AnswerNaming(kOther));
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  Know("uid-2", {Asking("app", 400, 40)}, Chosen(0, 400, 40) + ";");

  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(Bind({Share(0, 1)}), "");
  EXPECT_EQ(LimitsOf(kOne), "CUDA_DEVICE_MEMORY_LIMIT_0=300m CUDA_DEVICE_SM_LIMIT=30 ");
  EXPECT_EQ(LimitsOf(kOther), "CUDA_DEVICE_MEMORY_LIMIT_0=400m CUDA_DEVICE_SM_LIMIT=40 ");
  EXPECT_EQ(told_, (std::vector<std::string>{"uid-1 app has " + Chosen(1, 300, 30) + ";",
                                             "uid-2 app has " + Chosen(0, 400, 40) + ";"}));
}

TEST_F(GrantRequestsTest, TheLedgerIsToldOfTheCardAlsoAfterARestart) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  const std::vector<BoundDevices> bound = {
      {"uid-1", "app", "nvidia.com/gpu", {Gpu(1)}, clock_.Now()}};
  EXPECT_EQ(inbox_->bound(), bound);

  inbox_ = std::make_shared<GrantInbox>();
  NewBinder()->TellLedger();
  EXPECT_EQ(inbox_->bound(), bound);
}

TEST_F(GrantRequestsTest, WhoBeginsToListenIsToldOfWhatWasBoundBefore) {
  rendering_.fractions->requests->fit_unplaced = true;
  Hold("uid-1", "app", {Share(1, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 300, 30)}, "");
  ASSERT_EQ(Bind({Share(1, 0)}), "");
  told_.clear();

  const auto next = NewBinder();
  const std::string what =
      "uid-1 app has " + Chosen(1, 300, 30) + ";, fitted: " + Chosen(1, 300, 30) + ";";
  context_->events.SetFormer([&] { return next->FormerContainers(); });
  EXPECT_EQ(std::exchange(told_, {}), std::vector<std::string>{what});
  context_->events.SetListener(nullptr);
  Listen();
  EXPECT_EQ(told_, std::vector<std::string>{what});
  context_->events.SetFormer(nullptr);
}

TEST_F(GrantRequestsTest, ThePodIsToBeKnownUntilItsGrantIsBound) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  EXPECT_EQ(Unknown({Share(0, 0)}), "uid-1");

  Know("uid-1", {Asking("app", 300, 30)}, Chosen(0, 300, 30) + ";");
  EXPECT_EQ(Unknown({Share(0, 0)}), "");
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  pods_.clear();
  EXPECT_EQ(Unknown({Share(0, 0)}), "");
  EXPECT_EQ(Bind({Share(0, 0)}), "");
}

TEST_F(GrantRequestsTest, NoOtherPodStandsInForIt) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-2", {Asking("app", 300, 30)}, Chosen(0, 300, 30) + ";");
  EXPECT_EQ(Bind({Share(0, 0)}), "grant-unknown: nvidia.com/gpu: pod uid-1 is not known");

  pods_["uid-1"] = pods_["uid-2"];
  EXPECT_EQ(Bind({Share(0, 0)}), "grant-unknown: nvidia.com/gpu: pod uid-1 is not known");
}

TEST_F(GrantRequestsTest, WhatIsWrittenOnThePodAfterItsFirstContainerChangesNothing) {
  Hold("uid-1", "init", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-1", "app", {Share(0, 1)}, AnswerNaming(kOther));
  const std::vector<kube::Container> containers = {Asking("init", 300, 30, Kind::kInit),
                                                   Asking("app", 200, 20)};
  Know("uid-1", containers, Chosen(0, 300, 30) + ";" + Chosen(0, 200, 20) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");

  Know("uid-1", containers, Chosen(1, 300, 30) + ";" + Chosen(1, 100, 10) + ";");
  EXPECT_EQ(Bind({Share(0, 1)}), "");
  EXPECT_EQ(LimitsOf(kOther), "CUDA_DEVICE_MEMORY_LIMIT_0=200m CUDA_DEVICE_SM_LIMIT=20 ");
}

TEST_F(GrantRequestsTest, APodCountsAsAWholeFromItsFirstContainerOn) {
  Hold("uid-1", "one", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-1", "two", {Share(0, 1)}, AnswerNaming(kOther));
  Hold("uid-2", "app", {Share(0, 2)}, AnswerNaming("00000000000000000000000000000003"));
  Know("uid-1", {Asking("one", 400, 10), Asking("two", 400, 10)},
       Chosen(0, 400, 10) + ";" + Chosen(0, 400, 10) + ";");
  Know("uid-2", {Asking("app", 300, 10)}, Chosen(0, 300, 10) + ";");

  ASSERT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(Bind({Share(0, 2)}),
            fmt::format("no-room: nvidia.com/gpu: device {} has 1000 MiB; 800 MiB and 20 percent "
                        "of its compute time are taken, and 300 MiB and 10 percent more do not fit",
                        Gpu(0)));
  EXPECT_EQ(Bind({Share(0, 1)}), "");
}

TEST_F(GrantRequestsTest, APodThatHasEndedLeavesRoomThoughItsGrantIsKept) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-2", "app", {Share(0, 2)}, AnswerNaming(kOther));
  Know("uid-1", {Asking("app", 800, 10)}, Chosen(0, 800, 10) + ";");
  Know("uid-2", {Asking("app", 300, 10)}, Chosen(0, 300, 10) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  ASSERT_NE(Bind({Share(0, 2)}), "");

  kube::Pod ended = *context_->pods.Find("uid-1");
  ended.phase = kube::Pod::Phase::kSucceeded;
  context_->pods.Put(ended);
  EXPECT_EQ(Bind({Share(0, 2)}), "");
  EXPECT_EQ(LimitsOf(kOne), "CUDA_DEVICE_MEMORY_LIMIT_0=800m CUDA_DEVICE_SM_LIMIT=10 ");
}

TEST_F(GrantRequestsTest, PodsOfThePluginThatWasHereBeforeCountAsTheirSchedulerHasIt) {
  Hold("uid-1", "app", {Share(0, 0)}, Field(1, Field(1, "A") + Field(2, "1")));
  Hold("uid-2", "app", {Share(0, 2)}, AnswerNaming(kOther));
  Know("uid-1", {Asking("app", 800, 10)}, Chosen(0, 800, 10) + ";");
  Know("uid-2", {Asking("app", 300, 10)}, Chosen(0, 300, 10) + ";");

  EXPECT_EQ(Bind({Share(0, 2)}).substr(0, 8), "no-room:");
  EXPECT_EQ(Bind({Share(0, 0)}), "");
}

TEST_F(GrantRequestsTest, WithScaledMemoryThereIsMoreOfItAndTheLibraryIsTold) {
  rendering_.fractions->memory_scaling = 2;
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 1900, 30)}, Chosen(0, 1900, 30) + ";");

  ASSERT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(LimitsOf(kOne), "CUDA_DEVICE_MEMORY_LIMIT_0=1900m CUDA_DEVICE_SM_LIMIT=30 ");
  EXPECT_EQ(std::ranges::count(EdgesOf(kOne, false), "CUDA_OVERSUBSCRIBE=true"), 1);
}

TEST_F(GrantRequestsTest, ItsDirectoryIsNamedAsHamisMonitorLooksForIt) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  kube::Pod pod{.uid = "mirror", .name = "static", .node = "worker-1", .mirrored = "uid-1"};
  pod.containers = {Asking("app", 300, 30)};
  pod.annotations = {{"hami.io/vgpu-node", "worker-1"},
                     {"hami.io/vgpu-devices-allocated", Chosen(0, 300, 30) + ";"}};
  context_->pods.Put(pod);
  pods_["uid-1"] = context_->pods.Find("uid-1");

  ASSERT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(EdgesOf(kOne, true).at(3), "/usr/local/vgpu/containers/mirror_app at /usr/local/vgpu");
  EXPECT_TRUE(os::Exists(directory_ + "/usr/local/vgpu/containers/mirror_app"));
  checkpoint_.entries.clear();
  Save();
  RemoveForgotten();
  clock_.Advance(Duration(60'000));
  RemoveForgotten();
  EXPECT_FALSE(os::Exists(directory_ + "/usr/local/vgpu/containers/mirror_app"));
}

TEST_F(GrantRequestsTest, AContainerGoesWithoutTheLibraryOnlyWhereItMay) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-2", "app", {Share(0, 1)}, AnswerNaming(kOther));
  kube::Container free = Asking("app", 300, 30);
  free.variables["CUDA_DISABLE_CONTROL"] = "true";
  Know("uid-1", {free}, Chosen(0, 300, 30) + ";");
  Know("uid-2", {free}, Chosen(0, 300, 30) + ";");
  const auto is_preloaded = [&](const char* grant) {
    return std::ranges::count(EdgesOf(grant, true),
                              "/usr/local/vgpu/ld.so.preload at /etc/ld.so.preload") == 1;
  };

  ASSERT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_TRUE(is_preloaded(kOne));
  rendering_.fractions->may_disable_control = true;
  ASSERT_EQ(Bind({Share(0, 1)}), "");
  EXPECT_FALSE(is_preloaded(kOther));
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_TRUE(is_preloaded(kOne));  // as when it was bound
}

TEST_F(GrantRequestsTest, WhatTheLibraryIsToldIsFixedOrLeftToThePod) {
  rendering_.fractions->tunables = {{"LIBCUDA_LOG_LEVEL", "3"}};
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(0, 300, 30) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(std::ranges::count(EdgesOf(kOne, false), "LIBCUDA_LOG_LEVEL=3"), 1);

  rendering_.fractions->tunables_fixed = false;
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(std::ranges::count(EdgesOf(kOne, false), "LIBCUDA_LOG_LEVEL=3"), 0);
}

TEST_F(GrantRequestsTest, APodThatNobodyPlacedIsRefusedUnlessItIsToBeFitted) {
  Hold("uid-1", "app", {Share(1, 0)}, AnswerNaming(kOne));
  Hold("uid-2", "app", {Share(1, 1)}, AnswerNaming(kOther));
  Know("uid-1", {Asking("app", 800, 30)}, "");
  Know("uid-2", {Asking("app", 300, 30)}, "");
  EXPECT_EQ(Bind({Share(1, 0)}),
            "not-placed: pod team/pod-uid-1: no scheduler has chosen GPUs for it: it has no "
            "annotation hami.io/vgpu-devices-allocated");

  rendering_.fractions->requests->fit_unplaced = true;
  EXPECT_EQ(Bind({Share(1, 0)}), "");
  EXPECT_EQ(LimitsOf(kOne), "CUDA_DEVICE_MEMORY_LIMIT_0=800m CUDA_DEVICE_SM_LIMIT=30 ");
  EXPECT_EQ(Bind({Share(1, 1)}).substr(0, 8), "no-room:");
}

TEST_F(GrantRequestsTest, AnnotationsSayHowLargeThePartsOfAPodAreThatIsFitted) {
  rendering_.fractions->requests->fit_unplaced = true;
  const auto know = [this](const std::string& allocated) {
    Know("uid-1",
         {{.name = "app", .limits = {{kGpu, "1"}}}, {.name = "two", .limits = {{kGpu, "1"}}}},
         allocated);
    kube::Pod pod = *pods_["uid-1"];
    pod.annotations["tessera.dev/gpu-memory"] = "300Mi";
    pod.annotations["tessera.dev/gpu-cores.two"] = "20";
    context_->pods.Put(pod);
    pods_["uid-1"] = context_->pods.Find("uid-1");
  };
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-1", "two", {Share(1, 0)}, AnswerNaming(kOther));
  know("");
  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(LimitsOf(kOne), "CUDA_DEVICE_MEMORY_LIMIT_0=300m CUDA_DEVICE_SM_LIMIT=0 ");
  know(Chosen(0, 300, 0) + ";" + Chosen(1, 300, 20) + ";");
  EXPECT_EQ(Bind({Share(1, 0)}), "");
  EXPECT_EQ(LimitsOf(kOther), "CUDA_DEVICE_MEMORY_LIMIT_0=300m CUDA_DEVICE_SM_LIMIT=20 ");

  const std::string all = ", fitted: " + Chosen(0, 300, 0) + ";" + Chosen(1, 300, 20) + ";";
  EXPECT_EQ(told_, (std::vector<std::string>{"uid-1 app has " + Chosen(0, 300, 0) + ";" + all,
                                             "uid-1 two has " + Chosen(1, 300, 20) + ";" + all}));
}

TEST_F(GrantRequestsTest, AnnotationsSayNothingOfWhatASchedulerHasChosen) {
  rendering_.fractions->requests->fit_unplaced = true;
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(0, 301, 30) + ";");
  kube::Pod pod = *pods_["uid-1"];
  pod.annotations["tessera.dev/gpu-memory.app"] = "800";
  context_->pods.Put(pod);
  pods_["uid-1"] = context_->pods.Find("uid-1");
  EXPECT_EQ(Bind({Share(0, 0)}),
            "bad-decision: pod team/pod-uid-1, container app: its placement does not match its "
            "request: 301 MiB of " +
                Gpu(0) + ", where the container asks for 300");
}

TEST_F(GrantRequestsTest, WhatIsFittedLessOrRefusedIsToldOnce) {
  rendering_.fractions->requests->fit_unplaced = true;
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 100, 10)}, "");
  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(Bind({Share(0, 0)}), "");
  Hold("uid-2", "app", {Share(0, 1)}, AnswerNaming(kOther));
  Know("uid-2", {Asking("app", 100, 10)}, Chosen(0, 50, 10) + ";");
  EXPECT_EQ(Bind({Share(0, 1)}), "");
  Hold("uid-3", "app", {Share(0, 2)}, AnswerNaming("00000000000000000000000000000003"));
  Know("uid-3", {Asking("app", 100, 10)}, Chosen(0, 101, 10) + ";");
  EXPECT_NE(Bind({Share(0, 2)}), "");

  EXPECT_EQ(
      told_,
      (std::vector<std::string>{
          "uid-1 app has " + Chosen(0, 100, 10) + ";, fitted: " + Chosen(0, 100, 10) + ";",
          "uid-2 app has " + Chosen(0, 50, 10) + ";, less: 50 MiB of " + Gpu(0) + " instead of 100",
          "uid-3 app is refused for good: bad-decision"}));
}

TEST_F(GrantRequestsTest, WhatWasPromisedByRequestIsNotEqualPartsByAReload) {
  Hold("uid-1", "app", {Share(0, 0)},
       AnswerNaming(kOne) + Field(4, Field(1, kPartsAnnotation) + Field(2, kPartsAsked)));
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(0, 300, 30) + ";");
  rendering_.fractions->requests.reset();
  EXPECT_EQ(Bind({Share(0, 0)}),
            "not-placed: nvidia.com/gpu: container app of pod uid-1 was granted its pod's request, "
            "but the configuration now makes equal parts; delete the pod");
}

TEST_F(GrantRequestsTest, ACardThatIsNotHealthyIsNotBoundThoughTheIdIsOfAnother) {
  offer_.troubles[1] = {Reason::kXid, "XID 79"};
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  EXPECT_EQ(Bind({Share(0, 0)}),
            fmt::format("unhealthy-share: nvidia.com/gpu: device {} is unhealthy: XID 79", Gpu(1)));
}

TEST_F(GrantRequestsTest, AnotherInstanceOfTheAgentGoesByWhatTheFirstOneDecided) {
  Hold("uid-1", "one", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-1", "two", {Share(0, 1)}, AnswerNaming(kOther));
  Know("uid-1", {Asking("one", 400, 10), Asking("two", 500, 10)},
       Chosen(0, 400, 10) + ";" + Chosen(0, 500, 10) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");

  const auto other = NewBinder();
  Know("uid-1", {Asking("one", 400, 10), Asking("two", 500, 10)}, "");
  EXPECT_TRUE(BindBy(*other, {Share(0, 1)}));
  EXPECT_EQ(LimitsOf(kOther), "CUDA_DEVICE_MEMORY_LIMIT_0=500m CUDA_DEVICE_SM_LIMIT=10 ");
}

}  // namespace
}  // namespace tessera
