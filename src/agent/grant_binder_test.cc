// SPDX-License-Identifier: Apache-2.0
#include "agent/grant_binder.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <latch>
#include <optional>
#include <thread>

#include "base/clock.h"

namespace tessera::agent {
namespace {

constexpr char kGpu[] = "nvidia.com/gpu";
constexpr char kOne[] = "00000000000000000000000000000001";
constexpr char kOther[] = "00000000000000000000000000000002";
constexpr char kLibrary[] = "/usr/local/vgpu/libvgpu.so";

std::string Field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
// As kubelet keeps it: a ContainerAllocateResponse with one annotation, field 4.
std::string AnswerNaming(const std::string& grant) {
  return Field(4, Field(1, kGrantAnnotation) + Field(2, grant));
}

// Two GPUs of 1000 MiB.
Offer TwoGpus(int parts) {
  Inventory inventory;
  for (const char* id :
       {"GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42", "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a43"}) {
    Device device;
    device.key = {kGpu, id};
    device.visible_as = id;
    device.memory = 1000;
    inventory.devices.push_back(device);
  }
  return Divide(kGpu, {{Division::kVgpu, parts, Separator::kDash}}, inventory, kGpu,
                [](const Device&) { return std::optional<Error>(); });
}

class GrantBinderTest : public testing::Test {
 protected:
  GrantBinderTest() {
    for (const char* path : {"/kubelet", "/usr/local/vgpu"}) {
      EXPECT_TRUE(os::MakeDirectories(directory_ + path, 0755));
    }
    EXPECT_TRUE(os::ReplaceFile(directory_ + kLibrary, "a library", 0644));
    SetParts(2);
  }
  ~GrantBinderTest() override { (void)os::RemoveTree(directory_); }

  void SetParts(int parts) {
    offer_ = TwoGpus(parts);
    rendering_.strategies = {Strategy::kCdiCri};
    rendering_.cdi_kind = "ab.com/gpu";
    rendering_.vgpu = Vgpu{.directory = "/usr/local/vgpu",
                           .lock_directory = "/tmp/vgpulock",
                           .library = kLibrary,
                           .parts = parts};
  }
  std::string Share(size_t gpu, int number) const {
    return fmt::format("{}-{}", offer_.devices[gpu].key.id, number);
  }
  void Hold(const std::string& pod, const std::string& container, std::vector<std::string> ids,
            const std::string& answer) {
    checkpoint_.entries.push_back({.pod_uid = pod,
                                   .container = container,
                                   .resource = kGpu,
                                   .ids_by_numa = {{"-1", std::move(ids)}},
                                   .allocate_response = answer});
    Save();
  }
  void Save() {
    EXPECT_TRUE(os::ReplaceFile(directory_ + "/kubelet/kubelet_internal_checkpoint",
                                kubelet::WriteCheckpoint(checkpoint_)));
  }
  // Empty: it is bound.
  std::string Bind(const std::vector<std::string>& ids) {
    const Status bound = binder_.Bind({.offer = offer_,
                                       .rendering = rendering_,
                                       .cdi_dir = directory_ + "/cdi",
                                       .described = described_ ? &*described_ : nullptr},
                                      ids);
    return bound ? ""
                 : fmt::format("{}: {}", ReasonName(bound.error().reason), bound.error().message);
  }
  // The limits in the grant's document, without its cache's.
  std::string LimitsOf(const std::string& name) const {
    const auto text = os::ReadFile(directory_ + "/cdi/" + GrantFileName(name));
    if (!text) return "no document";
    std::string limits;
    const cdi::Document document = cdi::Read(*text).value();
    for (const std::string& env : document.devices.at(0).edits.env) {
      if (env.find("LIMIT") != std::string::npos) limits += env + " ";
    }
    return limits;
  }
  void RemoveForgotten() { binder_.RemoveForgotten({directory_ + "/cdi"}); }

  const std::string directory_ = *os::MakeTemporaryDirectory(testing::TempDir() + "binder");
  Offer offer_;
  Rendering rendering_;
  std::optional<cdi::Parts> described_{std::in_place};
  kubelet::Checkpoint checkpoint_;
  FakeClock clock_;
  GrantBinder binder_{directory_ + "/kubelet", directory_ + "/state", os::Root(directory_), clock_};
};

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

TEST_F(GrantBinderTest, WithoutKubeletsWordNothingIsBound) {
  EXPECT_EQ(
      Bind({Share(0, 0)}),
      fmt::format(
          "grant-unknown: nvidia.com/gpu: kubelet's checkpoint does not say which "
          "container this is: cannot look at {}/kubelet/kubelet_internal_checkpoint: No such file "
          "or directory",
          directory_));

  Hold("uid-1", "app", {Share(0, 0), Share(0, 1)}, AnswerNaming(kOne));
  EXPECT_EQ(Bind({Share(0, 0)}),
            "grant-unknown: nvidia.com/gpu: no container in kubelet's "
            "checkpoint holds " +
                Share(0, 0));
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

TEST_F(GrantBinderTest, AGrantWhoseRecordIsNoneIsNotKnownAndOthersAreBound) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-2", "app", {Share(0, 1)}, AnswerNaming(kOther));
  const std::string path = fmt::format("{}/state/grants/{}.json", directory_, kOne);
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/state/grants", 0700));
  ASSERT_TRUE(os::ReplaceFile(path, "{}", 0600));

  EXPECT_EQ(Bind({Share(0, 0)}), "grant-unknown: " + path +
                                     " does not say what the container was granted: it is no "
                                     "record of a grant");
  EXPECT_EQ(Bind({Share(0, 1)}), "");
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

TEST_F(GrantBinderTest, OtherSizesLeaveWhatIsHeldAloneAndAreGrantedWhereTheyFit) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  ASSERT_EQ(Bind({Share(0, 0)}), "");

  SetParts(1);
  const std::string limits = LimitsOf(kOne);
  Hold("uid-2", "app", {Share(0, 0)}, AnswerNaming(kOther));
  EXPECT_EQ(Bind({Share(0, 0)}),
            fmt::format("no-room: nvidia.com/gpu: device {} has 1000 MiB, of which 500 MiB and 50 "
                        "percent of its compute time are taken: 1000 MiB and 100 percent more do "
                        "not fit",
                        offer_.devices[0].key.id));
  EXPECT_EQ(LimitsOf(kOne), limits);
  EXPECT_EQ(LimitsOf(kOther), "no document");
  EXPECT_TRUE(binder_.AnyLacksRoom());
  clock_.Advance(Duration(60'000));
  EXPECT_FALSE(binder_.AnyLacksRoom());

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
            "not-checked: nvidia.com/gpu: what containers need of the driver has not been found "
            "yet since the agent began: kubelet tries again by itself");
  EXPECT_EQ(LimitsOf(kOther), "no document");
}

TEST_F(GrantBinderTest, ADirectoryInWhichOthersMayWriteGetsNoDocument) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/cdi", 0755));
  ASSERT_EQ(chmod((directory_ + "/cdi").c_str(), 0777), 0);

  EXPECT_EQ(Bind({Share(0, 0)}),
            fmt::format("cdi-unsafe: {}/cdi could be written by others than root: user {}, group "
                        "{}, 0777",
                        directory_, geteuid(), getegid()));
}

TEST_F(GrantBinderTest, ALinkInPlaceOfADirectoryIsNotFollowed) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/tmp", 0755));
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/elsewhere", 0700));
  ASSERT_TRUE(os::ReplaceLink(directory_ + "/tmp/vgpulock", directory_ + "/elsewhere"));

  EXPECT_EQ(
      Bind({Share(0, 0)}),
      fmt::format("permission: {}/tmp/vgpulock is no directory of the agent's user: remove it",
                  directory_));
  EXPECT_EQ(os::Inspect(directory_ + "/elsewhere").value().mode, 0700U);
}

TEST_F(GrantBinderTest, WhatKubeletHasForgottenForAMinuteIsRemoved) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-2", "app", {Share(1, 0)}, AnswerNaming(kOther));
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  ASSERT_EQ(Bind({Share(1, 0)}), "");
  checkpoint_.entries.erase(checkpoint_.entries.begin());
  Save();

  RemoveForgotten();
  clock_.Advance(Duration(59'999));
  RemoveForgotten();
  EXPECT_NE(LimitsOf(kOne), "no document");
  clock_.Advance(Duration(1));
  RemoveForgotten();

  EXPECT_EQ(LimitsOf(kOne), "no document");
  EXPECT_NE(LimitsOf(kOther), "no document");
  const std::string containers = directory_ + "/usr/local/vgpu/containers";
  EXPECT_EQ(os::ListDirectory(containers).value(), std::vector<std::string>{kOther});
  EXPECT_EQ(os::ListDirectory(directory_ + "/state/grants").value(),
            std::vector<std::string>{std::string(kOther) + ".json"});
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
}  // namespace tessera::agent
