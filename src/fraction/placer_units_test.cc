// SPDX-License-Identifier: Apache-2.0
// Devices whose compute time has units: each container has units of its own.
#include "fraction/placer.h"

#include <algorithm>

#include "backend/amd/vgpu.h"
#include "fraction/grant_requests_under_test.h"
#include "hami/vendor.h"

namespace tessera {
namespace {

constexpr char kThird[] = "00000000000000000000000000000003";
constexpr int kUnits = 10;

// Two GPUs of 1000 MiB and 10 compute units.
class PlacerUnitsTest : public GrantRequestsTest {
 protected:
  PlacerUnitsTest() {
    Inventory inventory;
    for (const char* id :
         {"e3ff74a1-0000-1000-80aa-140f9a5f9e31", "22ff74a1-0000-1000-8050-f807caf2231a"}) {
      Device device;
      device.key = {kGpu, id};
      device.visible_as = id;
      device.address = inventory.devices.empty() ? "0000:05:00.0" : "0000:27:00.0";
      device.memory = 1000;
      device.order = static_cast<int>(inventory.devices.size());
      device.traits = DeviceTraits{.capacities = {{amd::kComputeUnits, kUnits}}};
      inventory.devices.push_back(device);
    }
    offer_ = Divide(kGpu, {{Division::kVgpu, 10, Separator::kDash}}, inventory, kGpu,
                    [](const Device&) { return std::optional<Error>(); });
    FractionRules& rules = *rendering_.fractions;
    rules.enforcer = &amd::CuMasks();
    rules.library = "/usr/local/vgpu/libamvgpu.so";
    rules.own_library = true;
    rules.enforced = false;
    rules.core_capacity = amd::kComputeUnits;
  }

  // A pod with one container, which has `percent` of a GPU.
  std::string BindOne(const std::string& uid, const std::string& grant, int share, int percent,
                      size_t gpu = 0) {
    Hold(uid, "app", {Share(gpu, share)}, AnswerNaming(grant));
    Know(uid, {Asking("app", 100, percent)}, Chosen(gpu, 100, percent / kUnits) + ";");
    return Bind({Share(gpu, share)});
  }
  std::string MaskOf(const std::string& grant) const {
    for (const std::string& env : EdgesOf(grant, false)) {
      if (env.starts_with("HSA_CU_MASK=")) return env.substr(12);
    }
    return "none";
  }
  // An init container of the pod has ended.
  void End(const std::string& uid, const std::string& container) {
    kube::Pod pod = *context_->pods.Find(uid);
    for (kube::Container& one : pod.containers) one.succeeded |= one.name == container;
    context_->pods.Put(pod);
  }
  std::string Share(size_t gpu, int number) const {
    return Gpu(gpu) + "-" + std::to_string(number);
  }
};

TEST_F(PlacerUnitsTest, ContainersOfADeviceHaveUnitsOfTheirOwn) {
  EXPECT_EQ(BindOne("uid-1", kOne, 0, 30), "");
  EXPECT_EQ(BindOne("uid-2", kOther, 1, 50), "");
  EXPECT_EQ(BindOne("uid-3", kThird, 0, 50, 1), "");
  EXPECT_EQ(MaskOf(kOne), "0:0-2");
  EXPECT_EQ(MaskOf(kOther), "0:3-7");
  EXPECT_EQ(MaskOf(kThird), "0:0-4");
}

TEST_F(PlacerUnitsTest, TheDocumentHasTheVariablesAndNoLibraryThatIsNotThere) {
  ASSERT_EQ(BindOne("uid-1", kOne, 0, 30), "");
  EXPECT_EQ(
      EdgesOf(kOne, false),
      (std::vector<std::string>{"HSA_CU_MASK=0:0-2", "ROCR_VISIBLE_DEVICES=GPU-e3aa140f9a5f9e31"}));
  EXPECT_EQ(EdgesOf(kOne, true), std::vector<std::string>());
  ASSERT_TRUE(os::ReplaceFile(directory_ + "/usr/local/vgpu/libamvgpu.so", "a library", 0644));
  ASSERT_EQ(BindOne("uid-2", kOther, 1, 30), "");
  EXPECT_EQ(
      EdgesOf(kOther, true),
      std::vector<std::string>{"/usr/local/vgpu/libamvgpu.so at /usr/local/vgpu/libamvgpu.so"});
  EXPECT_EQ(std::ranges::count(EdgesOf(kOther, false), "HIP_DEVICE_MEMORY_LIMIT=100m"), 1);
}

TEST_F(PlacerUnitsTest, UnitsOutlastTheAgent) {
  ASSERT_EQ(BindOne("uid-1", kOne, 0, 30), "");
  Hold("uid-2", "app", {Share(0, 1)}, AnswerNaming(kOther));
  Know("uid-2", {Asking("app", 100, 30)}, Chosen(0, 100, 3) + ";");
  const auto next = NewBinder();
  EXPECT_TRUE(BindBy(*next, {Share(0, 1)}));
  EXPECT_EQ(MaskOf(kOther), "0:3-5");
  EXPECT_TRUE(BindBy(*next, {Share(0, 0)}));
  EXPECT_EQ(MaskOf(kOne), "0:0-2");
}

TEST_F(PlacerUnitsTest, UnitsOfAForgottenGrantAreFree) {
  ASSERT_EQ(BindOne("uid-1", kOne, 0, 30), "");
  ASSERT_EQ(BindOne("uid-2", kOther, 1, 30), "");
  checkpoint_.entries.erase(checkpoint_.entries.begin());
  ASSERT_EQ(BindOne("uid-3", kThird, 2, 50), "");
  EXPECT_EQ(MaskOf(kThird), "0:0-2,6-7");
}

TEST_F(PlacerUnitsTest, AnInitContainersUnitsAreThoseOfTheNextContainersToo) {
  Hold("uid-1", "first", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-1", "app", {Share(0, 1)}, AnswerNaming(kOther));
  Know("uid-1", {Asking("first", 100, 80, kube::Container::Kind::kInit), Asking("app", 100, 80)},
       Chosen(0, 100, 8) + ";" + Chosen(0, 100, 8) + ";");
  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(Bind({Share(0, 1)}), "");
  EXPECT_EQ(MaskOf(kOne), "0:0-7");
  EXPECT_EQ(MaskOf(kOther), "0:0-7");
}

TEST_F(PlacerUnitsTest, ASidecarKeepsItsUnits) {
  Hold("uid-1", "beside", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-1", "app", {Share(0, 1)}, AnswerNaming(kOther));
  Know("uid-1",
       {Asking("beside", 100, 20, kube::Container::Kind::kSidecar), Asking("app", 100, 80)},
       Chosen(0, 100, 2) + ";" + Chosen(0, 100, 8) + ";");
  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(Bind({Share(0, 1)}), "");
  EXPECT_EQ(MaskOf(kOne), "0:0-1");
  EXPECT_EQ(MaskOf(kOther), "0:2-9");
}

TEST_F(PlacerUnitsTest, MoreUnitsThanAreFreeAreRefused) {
  ASSERT_EQ(BindOne("uid-1", kOne, 0, 80), "");
  EXPECT_EQ(BindOne("uid-2", kOther, 1, 30),
            "no-room: nvidia.com/gpu: device " + Gpu(0) +
                " has 1000 MiB; 100 MiB and 8 of its 10 compute units are taken, and 100 MiB and "
                "3 units more do not fit");
}

TEST_F(PlacerUnitsTest, ASidecarMayHaveTheUnitsOfAnInitContainerBeforeIt) {
  Hold("uid-1", "first", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-1", "beside", {Share(0, 1)}, AnswerNaming(kOther));
  Know("uid-1",
       {Asking("first", 100, 80, kube::Container::Kind::kInit),
        Asking("beside", 100, 30, kube::Container::Kind::kSidecar)},
       Chosen(0, 100, 8) + ";" + Chosen(0, 100, 3) + ";");
  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(Bind({Share(0, 1)}), "");
  EXPECT_EQ(MaskOf(kOther), "0:0-2");
}

TEST_F(PlacerUnitsTest, AnInitContainerHasNoUnitsOfASidecarBeforeIt) {
  Hold("uid-1", "beside", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-1", "next", {Share(0, 1)}, AnswerNaming(kOther));
  Know("uid-1",
       {Asking("beside", 100, 30, kube::Container::Kind::kSidecar),
        Asking("next", 100, 70, kube::Container::Kind::kInit)},
       Chosen(0, 100, 3) + ";" + Chosen(0, 100, 7) + ";");
  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(Bind({Share(0, 1)}), "");
  EXPECT_EQ(MaskOf(kOther), "0:3-9");
}

TEST_F(PlacerUnitsTest, AContainerThatStartsAgainGetsOtherUnitsIfItsOwnAreTaken) {
  using Kind = kube::Container::Kind;
  Hold("uid-1", "first", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("first", 100, 30, Kind::kInit)}, Chosen(0, 100, 3) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  ASSERT_EQ(MaskOf(kOne), "0:0-2");
  End("uid-1", "first");
  ASSERT_EQ(BindOne("uid-2", kOther, 1, 30), "");
  ASSERT_EQ(MaskOf(kOther), "0:0-2");

  EXPECT_EQ(Bind({Share(0, 0)}), "");

  EXPECT_EQ(MaskOf(kOne), "0:3-5");
  // It is so for the next agent, and for the other containers.
  const auto next = NewBinder();
  EXPECT_TRUE(BindBy(*next, {Share(0, 0)}));
  EXPECT_EQ(MaskOf(kOne), "0:3-5");
  ASSERT_EQ(BindOne("uid-3", kThird, 2, 40), "");
  EXPECT_EQ(MaskOf(kThird), "0:6-9");
}

TEST_F(PlacerUnitsTest, AContainerOfAnUnknownPodDoesNotStartWithUnitsThatAnotherHas) {
  using Kind = kube::Container::Kind;
  Hold("uid-1", "first", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("first", 100, 30, Kind::kInit)}, Chosen(0, 100, 3) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  End("uid-1", "first");
  ASSERT_EQ(BindOne("uid-2", kOther, 1, 30), "");
  const PodPtr known = context_->pods.Find("uid-1");
  context_->pods.Remove(*known);

  EXPECT_EQ(Bind({Share(0, 0)}),
            fmt::format("grant-unknown: {}: other containers may have the compute units of "
                        "container first of pod uid-1, which is not known yet: try again",
                        kGpu));
  EXPECT_EQ(Bind({Share(0, 1)}), "");  // its units are its own

  context_->pods.Put(*known);
  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(MaskOf(kOne), "0:3-5");
}

TEST_F(PlacerUnitsTest, AnotherAgentSeesUnitsThatWereChosenAnew) {
  using Kind = kube::Container::Kind;
  Hold("uid-1", "first", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("first", 100, 30, Kind::kInit)}, Chosen(0, 100, 3) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  const auto next = NewBinder();
  ASSERT_TRUE(BindBy(*next, {Share(0, 0)}));  // it knows the record
  End("uid-1", "first");
  ASSERT_EQ(BindOne("uid-2", kOther, 1, 30), "");
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  ASSERT_EQ(MaskOf(kOne), "0:3-5");

  Hold("uid-3", "app", {Share(0, 2)}, AnswerNaming(kThird));
  kube::Pod again = *context_->pods.Find("uid-1");
  for (kube::Container& one : again.containers) one.succeeded = false;
  context_->pods.Put(again);
  Know("uid-3", {Asking("app", 100, 30)}, Chosen(0, 100, 3) + ";");
  EXPECT_TRUE(BindBy(*next, {Share(0, 2)}));
  EXPECT_EQ(MaskOf(kThird), "0:6-8");
}

TEST_F(PlacerUnitsTest, OneUnreadableRecordOfAPodClosesItsGpuAlone) {
  Hold("uid-1", "one", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-1", "two", {Share(0, 1)}, AnswerNaming(kOther));
  Know("uid-1", {Asking("one", 100, 30), Asking("two", 100, 30)},
       Chosen(0, 100, 3) + ";" + Chosen(0, 100, 3) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  ASSERT_EQ(Bind({Share(0, 1)}), "");
  const std::string path = directory_ + "/state/grants/" + kOne + ".json";
  ASSERT_TRUE(os::ReplaceFile(path, "no record"));
  const auto next = NewBinder();

  Hold("uid-2", "app", {Share(0, 2)}, AnswerNaming(kThird));
  Know("uid-2", {Asking("app", 100, 30)}, Chosen(0, 100, 3) + ";");
  const Status bound = BindBy(*next, {Share(0, 2)});

  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().reason, Reason::kNoRoom);
  const std::string begin =
      "nvidia.com/gpu: the compute units of container one of pod uid-1 are unknown: ";
  EXPECT_EQ(bound.error().message.substr(0, begin.size()), begin);
  const std::string elsewhere = "00000000000000000000000000000004";
  Hold("uid-3", "app", {Share(1, 0)}, AnswerNaming(elsewhere));
  Know("uid-3", {Asking("app", 100, 30)}, Chosen(1, 100, 3) + ";");
  EXPECT_TRUE(BindBy(*next, {Share(1, 0)}));
}

TEST_F(PlacerUnitsTest, BesideAnotherPluginsContainersNoneIsGranted) {
  Hold("uid-9", "app", {"0000:05:00.0#3"}, "");
  EXPECT_EQ(BindOne("uid-1", kOne, 0, 30),
            "no-room: nvidia.com/gpu: another plugin started container app of pod uid-9, whose "
            "compute units are unknown: drain the node");
  // A scheduler may have chosen any GPU for the number of a share.
  EXPECT_EQ(BindOne("uid-2", kOther, 1, 30, 1).substr(0, 8), "no-room:");
}

TEST_F(PlacerUnitsTest, AnotherPluginsWholeGpuCostsNoOther) {
  Hold("uid-9", "app", {"0000:05:00.0"}, "");
  EXPECT_EQ(BindOne("uid-1", kOne, 0, 30).substr(0, 8), "no-room:");
  EXPECT_EQ(BindOne("uid-2", kOther, 1, 30, 1), "");
}

TEST_F(PlacerUnitsTest, AnotherPluginsContainerIsWhereItsSchedulerHasIt) {
  Hold("uid-9", "app", {"0000:05:00.0#3"}, "");
  Know("uid-9", {Asking("app", 100, 30)}, Chosen(0, 100, 3) + ";");
  EXPECT_EQ(BindOne("uid-1", kOne, 0, 30).substr(0, 8), "no-room:");
  EXPECT_EQ(BindOne("uid-2", kOther, 1, 30, 1), "");
}

TEST_F(PlacerUnitsTest, AnotherPluginsContainerThatHasEndedIsNotInTheWay) {
  Hold("uid-9", "app", {"0000:05:00.0#3"}, "");
  Know("uid-9", {Asking("app", 100, 30)}, "");
  kube::Pod ended = *context_->pods.Find("uid-9");
  ended.phase = kube::Pod::Phase::kSucceeded;
  context_->pods.Put(ended);
  EXPECT_EQ(BindOne("uid-1", kOne, 0, 30), "");
}

}  // namespace
}  // namespace tessera
