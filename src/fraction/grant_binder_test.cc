// SPDX-License-Identifier: Apache-2.0
#include "fraction/grant_binder_under_test.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <latch>
#include <optional>
#include <thread>

#include "base/captured_log_test.h"

namespace tessera {
namespace {

TEST_F(GrantBinderTest, AllContainersWithTheseIdsAreBoundAndNoOther) {
  Hold("uid-1", "init", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOther));
  Hold("uid-2", "app", {Share(1, 0)}, AnswerNaming("00000000000000000000000000000003"));

  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(LimitsOf(kOne), "CUDA_DEVICE_MEMORY_LIMIT_0=500m CUDA_DEVICE_SM_LIMIT=50 ");
  EXPECT_EQ(LimitsOf(kOther), "CUDA_DEVICE_MEMORY_LIMIT_0=500m CUDA_DEVICE_SM_LIMIT=50 ");
  EXPECT_EQ(LimitsOf("00000000000000000000000000000003"), "no document");
}

TEST_F(GrantBinderTest, IdsOfOneGpuAddUpInWhateverOrderTheyCome) {
  Hold("uid-1", "app", {Share(0, 0), Share(0, 1), Share(1, 0)}, AnswerNaming(kOne));

  EXPECT_EQ(Bind({Share(1, 0), Share(0, 1), Share(0, 0)}), "");
  EXPECT_EQ(LimitsOf(kOne),
            "CUDA_DEVICE_MEMORY_LIMIT_0=1000m CUDA_DEVICE_MEMORY_LIMIT_1=500m "
            "CUDA_DEVICE_SM_LIMIT=50 ");
}

TEST_F(GrantBinderTest, AContainerHasWhatAllocateSaidWhateverTheConfigurationSaysByThen) {
  const std::string parts = offer_.devices[0].key.id + "=300:20";
  Hold("uid-1", "app", {Share(0, 0)},
       AnswerNaming(kOne) + Field(4, Field(1, kPartsAnnotation) + Field(2, parts)));
  SetParts(1);

  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(LimitsOf(kOne), "CUDA_DEVICE_MEMORY_LIMIT_0=300m CUDA_DEVICE_SM_LIMIT=20 ");
}

TEST_F(GrantBinderTest, AGrantOfThePluginThatWasHereBeforeStaysAsItIs) {
  Hold("uid-1", "app", {Share(0, 0)}, Field(1, Field(1, "A") + Field(2, "1")));

  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_FALSE(os::Exists(directory_ + "/cdi"));
}

TEST_F(GrantBinderTest, ARefusalNamesItsPodAndIsToldOnceHoweverOftenKubeletTries) {
  context_->pods.Put({.uid = "uid-1", .pod_namespace = "team", .name = "a"});
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-2", "app", {Share(0, 1)}, AnswerNaming(kOther));
  ASSERT_TRUE(os::RemoveFile(directory_ + kLibrary));
  CapturedLog told;

  EXPECT_TRUE(Bind({Share(0, 0)}).starts_with("not-enforced: "));
  const std::string first = told.Take();
  EXPECT_NE(first.find("INFO a grant is bound resource=nvidia.com/gpu grant=" + std::string(kOne) +
                       " pod=team/a uid=uid-1 container=app parts="),
            std::string::npos)
      << first;
  EXPECT_NE(first.find("WARN a container is not started resource=nvidia.com/gpu pod=team/a "
                       "uid=uid-1 container=app reason=not-enforced error="),
            std::string::npos)
      << first;
  for (int i = 0; i < 10; ++i) EXPECT_NE(Bind({Share(0, 0)}), "");
  EXPECT_EQ(told.Take(), "");

  EXPECT_NE(Bind({Share(0, 1)}), "");
  const std::string other = told.Take();
  EXPECT_NE(other.find("WARN a container is not started resource=nvidia.com/gpu pod=uid-2 "
                       "uid=uid-2 container=app reason=not-enforced error="),
            std::string::npos)
      << other;
}

TEST_F(GrantBinderTest, WhatKubeletDoesNotNameIsToldOnceByItsIds) {
  CapturedLog told;

  for (int i = 0; i < 10; ++i) EXPECT_NE(Bind({Share(0, 0)}), "");

  EXPECT_TRUE(told.Take().starts_with(
      "WARN a container is not started resource=nvidia.com/gpu ids=" + Share(0, 0) +
      " reason=grant-unknown error="));
  EXPECT_NE(Bind({Share(0, 1)}), "");
  EXPECT_EQ(told.Take(), "");  // kubelet's checkpoint is missing for all
}

TEST_F(GrantBinderTest, WithoutKubeletsWordNothingIsBound) {
  EXPECT_EQ(
      Bind({Share(0, 0)}),
      fmt::format(
          "grant-unknown: nvidia.com/gpu: kubelet's checkpoint does not identify the container: "
          "cannot look at {}/kubelet/kubelet_internal_checkpoint: No such file or directory",
          directory_));

  Hold("uid-1", "app", {Share(0, 0), Share(0, 1)}, AnswerNaming(kOne));
  EXPECT_EQ(Bind({Share(0, 0)}),
            "grant-unknown: nvidia.com/gpu: no container in kubelet's "
            "checkpoint holds " +
                Share(0, 0));
}

TEST_F(GrantBinderTest, ACheckpointOfUnknownShapeIsRefusedByBothVersions) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  const std::string limits = LimitsOf(kOne);
  EXPECT_FALSE(binder_->IsShapeUnknown());

  ASSERT_TRUE(os::ReplaceFile(directory_ + "/kubelet/kubelet_internal_checkpoint",
                              R"({"allocations":[]})"));
  EXPECT_EQ(Bind({Share(0, 0)}),
            "grant-unknown: nvidia.com/gpu: kubelet's checkpoint does not identify the container: "
            "its format is unknown (kubelet is v1.99.0, the agent 0.1.0); a newer agent may know "
            "it: kubelet's checkpoint: no Data");
  EXPECT_TRUE(binder_->IsShapeUnknown());
  RemoveForgotten();
  EXPECT_EQ(LimitsOf(kOne), limits);

  Save();
  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_FALSE(binder_->IsShapeUnknown());
}

// A record of former agents, which knew a pod only by its name.
TEST_F(GrantBinderTest, ARecordByAPodsNameIsItsContainersStill) {
  const auto record = std::make_shared<BindingRecord>(
      BindingRecord{.resource = kGpu,
                    .pod_uid = "team/pod-uid-1",
                    .container = "app",
                    .directory = std::string("/usr/local/vgpu/containers/") + kOne,
                    .parts = {{offer_.devices[0].key.id, 20, 2}}});
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/state/grants", 0700));
  ASSERT_TRUE(os::ReplaceFile(fmt::format("{}/state/grants/{}.json", directory_, kOne),
                              BindingRecordText(*record), 0600));
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  EXPECT_EQ(Bind({Share(0, 0)}), "");
}

TEST_F(GrantBinderTest, ANameThatLeadsElsewhereIsRefused) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming("../../etc/cron.d/a"));

  EXPECT_EQ(Bind({Share(0, 0)}),
            "grant-unknown: nvidia.com/gpu: kubelet's checkpoint has a grant "
            "named ../../etc/cron.d/a");
}

TEST_F(GrantBinderTest, AGrantIsOneContainersForEver) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  ASSERT_EQ(Bind({Share(0, 0)}), "");

  checkpoint_.entries[0].pod_uid = "uid-2";
  Save();
  EXPECT_EQ(
      Bind({Share(0, 0)}),
      fmt::format("grant-unknown: grant {} is bound to container app of pod uid-1, not to app "
                  "of uid-2",
                  kOne));
}

TEST_F(GrantBinderTest, AGrantWhoseRecordCannotBeReadIsNotBoundAnew) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  const std::string path = fmt::format("{}/state/grants/{}.json", directory_, kOne);
  ASSERT_TRUE(os::MakeDirectories(path, 0700));

  EXPECT_EQ(Bind({Share(0, 0)}), "io: " + path + " is not a regular file");
}

TEST_F(GrantBinderTest, AGrantWhoseRecordIsNoneIsNotKnownAndThoseOfOtherCardsAreBound) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-2", "app", {Share(1, 0)}, AnswerNaming(kOther));
  const std::string path = fmt::format("{}/state/grants/{}.json", directory_, kOne);
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/state/grants", 0700));
  ASSERT_TRUE(os::ReplaceFile(path, "{}", 0600));

  EXPECT_EQ(Bind({Share(0, 0)}),
            "grant-unknown: " + path +
                " does not say what the container was granted: it is not a grant's record");
  EXPECT_EQ(Bind({Share(1, 0)}), "");
}

TEST_F(GrantBinderTest, ContainersThatAreMadeAtOnceAllStart) {
  SetParts(10);
  std::vector<std::string> failures(10);
  for (int i = 0; i < 10; ++i) {
    Hold("uid-1", fmt::format("app{}", i), {Share(0, i)}, AnswerNaming(fmt::format("{:032}", i)));
  }
  std::latch all_there(10);
  std::vector<std::thread> threads;
  for (int i = 0; i < 10; ++i) {
    threads.emplace_back([&, i] {
      all_there.arrive_and_wait();
      failures.at(static_cast<size_t>(i)) = Bind({Share(0, i)});
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(failures, std::vector<std::string>(10));
}

TEST_F(GrantBinderTest, WhoComesWhileOthersAreBoundIsBoundAfterThem) {
  constexpr int kThreads = 8;
  constexpr int kEach = 10;
  SetParts(kThreads * kEach);
  for (int i = 0; i < kThreads * kEach; ++i) {
    Hold("uid-1", fmt::format("app{}", i), {Share(0, i)}, AnswerNaming(fmt::format("{:032}", i)));
  }
  std::vector<std::string> failures(kThreads);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kEach; ++i) {
        failures.at(static_cast<size_t>(thread)) += Bind({Share(0, thread * kEach + i)});
      }
    });
  }
  threads.clear();

  EXPECT_EQ(failures, std::vector<std::string>(kThreads));
  EXPECT_EQ(os::ListDirectory(directory_ + "/state/grants").value().size(), kThreads * kEach);
  EXPECT_EQ(os::ListDirectory(directory_ + "/cdi").value().size(), kThreads * kEach);
}

TEST_F(GrantBinderTest, OtherSizesLeaveWhatIsHeldAloneAndAreGrantedWhereTheyFit) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  ASSERT_EQ(Bind({Share(0, 0)}), "");

  SetParts(1);
  const std::string limits = LimitsOf(kOne);
  Hold("uid-2", "app", {Share(0, 0)}, AnswerNaming(kOther));
  EXPECT_EQ(
      Bind({Share(0, 0)}),
      fmt::format("no-room: nvidia.com/gpu: device {} has 1000 MiB; 500 MiB and 50 percent of its "
                  "compute time are taken, and 1000 MiB and 100 percent more do not fit",
                  offer_.devices[0].key.id));
  EXPECT_EQ(LimitsOf(kOne), limits);
  EXPECT_EQ(LimitsOf(kOther), "no document");
  EXPECT_TRUE(binder_->AnyLacksCapacity());
  clock_.Advance(Duration(60'000));
  EXPECT_FALSE(binder_->AnyLacksCapacity());

  checkpoint_.entries.erase(checkpoint_.entries.begin());
  Save();
  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(LimitsOf(kOther), "CUDA_DEVICE_MEMORY_LIMIT_0=1000m CUDA_DEVICE_SM_LIMIT=100 ");
}

TEST_F(GrantBinderTest, WhatAnInitContainerHandsOnIsTakenOnce) {
  const std::vector<std::string> all = {Share(0, 0), Share(0, 1)};
  Hold("uid-1", "init", all, AnswerNaming(kOne));
  Hold("uid-1", "app", all, AnswerNaming(kOther));

  EXPECT_EQ(Bind(all), "");
  EXPECT_EQ(LimitsOf(kOne), "CUDA_DEVICE_MEMORY_LIMIT_0=1000m CUDA_DEVICE_SM_LIMIT=100 ");
  EXPECT_EQ(LimitsOf(kOther), "CUDA_DEVICE_MEMORY_LIMIT_0=1000m CUDA_DEVICE_SM_LIMIT=100 ");
}

TEST_F(GrantBinderTest, WhatAnotherPodsContainersHandOnIsTakenOnce) {
  SetParts(4);
  const std::vector<std::string> half = {Share(0, 0), Share(0, 1)};
  const std::vector<std::string> rest = {Share(0, 2), Share(0, 3)};
  Hold("uid-1", "init", half, AnswerNaming(kOne));
  Hold("uid-1", "app", half, AnswerNaming(kOther));
  ASSERT_EQ(Bind(half), "");

  Hold("uid-2", "app", rest, AnswerNaming("00000000000000000000000000000003"));
  EXPECT_EQ(Bind(rest), "");
}

TEST_F(GrantBinderTest, ADeviceThatIsNotHealthyIsNotBound) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  offer_.troubles.emplace(0, Error{Reason::kXid, "XID 79"});

  EXPECT_EQ(Bind({Share(0, 0)}), fmt::format("unhealthy-share: nvidia.com/gpu: device {} is "
                                             "unhealthy: XID 79",
                                             offer_.devices[0].key.id));
}

TEST_F(GrantBinderTest, AContainerThatIsMadeAgainOnADeviceGoneSickStarts) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  offer_.troubles.emplace(0, Error{Reason::kXid, "XID 79"});

  EXPECT_EQ(Bind({Share(0, 0)}), "");
}

TEST_F(GrantBinderTest, AnUnchangedDocumentIsNotWrittenAgain) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  const std::string path = directory_ + "/cdi/" + GrantFileName(kOne);
  const os::FileInfo before = os::Inspect(path).value();

  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(os::Inspect(path).value(), before);
}

TEST_F(GrantBinderTest, BeforeTheDriverIsFoundADocumentIsNotWrittenAndAFormerOneStays) {
  described_->common.env = {"NVIDIA_VISIBLE_DEVICES=void"};
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-2", "app", {Share(1, 0)}, AnswerNaming(kOther));
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  const std::string path = directory_ + "/cdi/" + GrantFileName(kOne);
  const os::FileInfo before = os::Inspect(path).value();
  described_.reset();  // as after a start of the agent

  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(os::Inspect(path).value(), before);
  EXPECT_EQ(Bind({Share(1, 0)}),
            "not-checked: nvidia.com/gpu: the agent has not found the driver's files since it "
            "started; kubelet retries by itself");
  EXPECT_EQ(LimitsOf(kOther), "no document");
}

TEST_F(GrantBinderTest, ADirectoryInWhichOthersMayWriteGetsNoDocument) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/cdi", 0755));
  ASSERT_EQ(chmod((directory_ + "/cdi").c_str(), 0777), 0);

  EXPECT_EQ(
      Bind({Share(0, 0)}),
      fmt::format(
          "cdi-unsafe: {}/cdi is writable for users other than root (user {}, group {}, 0777)",
          directory_, geteuid(), getegid()));
}

TEST_F(GrantBinderTest, ALinkInPlaceOfADirectoryIsNotFollowed) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/elsewhere", 0700));
  const std::string locks = directory_ + "/usr/local/vgpu/locks";
  ASSERT_TRUE(os::ReplaceLink(locks, directory_ + "/elsewhere"));

  EXPECT_EQ(Bind({Share(0, 0)}),
            fmt::format("permission: {} is not a directory of the agent's user; remove it", locks));
  EXPECT_EQ(os::Inspect(directory_ + "/elsewhere").value().mode, 0700U);
}

TEST_F(GrantBinderTest, TheLimitsStandWhereTheContainerCannotChangeThemAsLongAsTheGrantDoes) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  const std::string limits = directory_ + "/usr/local/vgpu/limits";
  const std::string text = os::ReadFile(limits + "/" + kOne + "/limits").value_or("");
  EXPECT_TRUE(text.starts_with(fmt::format(
      "tessera-limits 1\ndevice {} memory=524288000 cores=50\n", offer_.devices[0].key.id)))
      << text;
  EXPECT_EQ(os::Inspect(limits)->mode & 0777U, 0700U);
  EXPECT_EQ(os::Inspect(limits + "/" + kOne + "/limits")->mode & 0777U, 0444U);

  checkpoint_.entries.clear();
  Save();
  RemoveForgotten();
  clock_.Advance(Duration(61'000));
  RemoveForgotten();
  EXPECT_EQ(os::ListDirectory(limits).value(), std::vector<std::string>{});
}

TEST_F(GrantBinderTest, WhatTheNodeSaysOfWhoHasNoLimitsGoesAlongWithThem) {
  const std::string node = directory_ + "/usr/local/vgpu/no-limits";
  const std::string file = directory_ + "/usr/local/vgpu/limits/" + kOne + "/no-limits";
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(os::ReadFile(file).value(), "built\n") << "there is one to be mounted";

  ASSERT_TRUE(os::ReplaceFile(node, "closed\n"));
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(os::ReadFile(file).value(), "closed\n");
  EXPECT_EQ(os::Inspect(file)->mode & 0777U, 0444U);

  ASSERT_TRUE(os::RemoveFile(node));
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(os::ReadFile(file).value(), "built\n");

  ASSERT_TRUE(os::MakeDirectories(node));
  ASSERT_EQ(Bind({Share(0, 0)}), "") << "it costs nobody else anything";
  EXPECT_EQ(os::ReadFile(file).value(), "closed\n");
}

// The container's root writes there, so other users must not reach its files.
TEST_F(GrantBinderTest, NoTwoContainersShareADirectoryAndNobodyElseReachesTheirs) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-2", "app", {Share(1, 0)}, AnswerNaming(kOther));
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  ASSERT_EQ(Bind({Share(1, 0)}), "");
  const std::string locks = directory_ + "/usr/local/vgpu/locks";
  EXPECT_EQ(os::ListDirectory(locks).value(), (std::vector<std::string>{kOne, kOther}));
  EXPECT_EQ(os::Inspect(locks)->mode & 07777U, 0700U);
  EXPECT_EQ(os::Inspect(locks + "/" + kOne)->mode & 07777U, 0777U);
  EXPECT_FALSE(os::Exists(directory_ + "/tmp")) << "nothing lies where everybody may write";

  ASSERT_TRUE(os::ReplaceFile(locks + "/" + kOne + "/left", ""));
  checkpoint_.entries.clear();
  Save();
  RemoveForgotten();
  clock_.Advance(Duration(61'000));
  RemoveForgotten();
  EXPECT_EQ(os::ListDirectory(locks).value(), std::vector<std::string>{});
}

TEST_F(GrantBinderTest, AContainerThatGaveItsDirectoryAwayGetsAnotherOne) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives directories away";
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  const std::string own = directory_ + "/usr/local/vgpu/containers/" + kOne;
  ASSERT_EQ(chown(own.c_str(), 12345, 12345), 0);

  EXPECT_EQ(Bind({Share(0, 0)}), "");
  struct stat info{};
  ASSERT_EQ(stat(own.c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 0U);
}

TEST_F(GrantBinderTest, WithTesserasLibraryThereIsNoLock) {
  rendering_.fractions->own_library = true;
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(os::ListDirectory(directory_ + "/usr/local/vgpu/locks").value(),
            std::vector<std::string>{});
}

TEST_F(GrantBinderTest, WhatKubeletHasForgottenForAMinuteIsRemoved) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-2", "app", {Share(1, 0)}, AnswerNaming(kOther));
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  ASSERT_EQ(Bind({Share(1, 0)}), "");
  checkpoint_.entries.erase(checkpoint_.entries.begin());
  Save();

  RemoveForgotten();
  EXPECT_EQ(LimitsOf(kOne), "no document");
  clock_.Advance(Duration(59'999));
  RemoveForgotten();
  const std::string records = directory_ + "/state/grants";
  EXPECT_EQ(os::ListDirectory(records).value().size(), 2u);
  clock_.Advance(Duration(1));
  RemoveForgotten();

  EXPECT_NE(LimitsOf(kOther), "no document");
  const std::string containers = directory_ + "/usr/local/vgpu/containers";
  EXPECT_EQ(os::ListDirectory(containers).value(), std::vector<std::string>{kOther});
  EXPECT_EQ(os::ListDirectory(records).value(),
            std::vector<std::string>{std::string(kOther) + ".json"});
}

TEST_F(GrantBinderTest, ADocumentGoesOnceItsContainerIsMadeAndReturnsBeforeItIsMadeAgain) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  const std::string limits = LimitsOf(kOne);
  clock_.Advance(GrantDocuments::kKept);
  RemoveForgotten();
  EXPECT_EQ(LimitsOf(kOne), "no document");

  ASSERT_EQ(Bind({Share(0, 0)}), "");
  RemoveForgotten();
  EXPECT_EQ(LimitsOf(kOne), limits);
}

TEST_F(GrantBinderTest, TheDocumentOfAPodThatHasEndedGoes) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  kube::Pod pod;
  pod.uid = "uid-1";
  pod.phase = kube::Pod::Phase::kSucceeded;
  context_->pods.Put(pod);
  RemoveForgotten();
  EXPECT_EQ(LimitsOf(kOne), "no document");
}

TEST_F(GrantBinderTest, WithoutACheckpointNothingIsForgotten) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  ASSERT_TRUE(os::RemoveFile(directory_ + "/kubelet/kubelet_internal_checkpoint"));

  RemoveForgotten();
  clock_.Advance(Duration(60'000));
  RemoveForgotten();
  EXPECT_NE(LimitsOf(kOne), "no document");
}

}  // namespace
}  // namespace tessera
