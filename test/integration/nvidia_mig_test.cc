// SPDX-License-Identifier: Apache-2.0
// MIG: GPUs that are divided, and divided again while the shipped binary and pods run.
#include <csignal>

#include "agent_fixture.h"
#include "base/text.h"
#include "nvml/nvidia_node.h"
#include "os/files.h"

namespace tessera {
namespace {

constexpr char kWhole[] = "  - {name: nvidia.com/gpu, strategies: [envvar], nvidia: {}}\n";
constexpr char kFamily[] =
    "  - {name: \"nvidia.com/mig-{profile}\", strategies: [envvar], nvidia: {mig: \"*\"}}\n";

class MigAgentTest : public AgentTest {
 protected:
  std::string OnNode() const { return "rootPrefix: " + node_.directory() + "\n"; }
  const nvml::HardwareGpu& Gpu(size_t index) const { return node_.hardware().gpus[index]; }
  // The resources that kubelet is connected to.
  std::vector<std::string> Resources() const {
    std::vector<std::string> names;
    for (const kubelet::ResourceStatus& resource : kubelet_->Resources()) {
      if (resource.connected) names.push_back(resource.name);
    }
    std::sort(names.begin(), names.end(), NaturalLess());
    return names;
  }
  bool AwaitResources(const std::vector<std::string>& names) const {
    return Await([&] { return Resources() == names; });
  }
  std::string Visible(const kubelet::Admission& pod) const {
    EXPECT_TRUE(pod.admitted) << pod.message;
    return pod.admitted ? pod.grants[0].response.envs.at("NVIDIA_VISIBLE_DEVICES") : "";
  }
  std::string ReasonOf(const std::string& id) {
    return json::GetString(DeviceOn(Page("/inventory"), id), "reason").value_or("");
  }
  // A check may report the change in its own words before a scan finds the reason.
  bool AwaitReason(const std::string& id, const std::string& reason) {
    return Await([&] { return ReasonOf(id) == reason; });
  }
  // Waits until the ledger has the pod's holding.
  bool AwaitHolding() {
    return AwaitPage("/ledger", [](const json::Object& page) {
      const auto at = page.find("holdings");
      return at != page.end() && !at->value().as_array().empty();
    });
  }
  using NodeUnderTest::Await;

  NvidiaNode node_{dir_ + "/node", "8xh100-mig"};
};

TEST_F(MigAgentTest, WholeGpusAndProfilesAreResourcesSideBySide) {
  StartAll(std::string(kWhole) +
               "  - {name: nvidia.com/mig-1g.10gb, strategies: [envvar], nvidia: {mig: 1g.10gb}}\n"
               "  - {name: nvidia.com/mig-3g.40gb, strategies: [envvar], nvidia: {mig: 3g.40gb}}\n",
           OnNode());
  Expect(kGpu, 6, 6);
  Expect(kOneG, 9, 9);
  Expect(kThreeG, 1, 1);

  EXPECT_EQ(Visible(Run("a", {{kThreeG, 1}})), Gpu(7).mig[0].uuid);
}

TEST_F(MigAgentTest, AGpuOrMigDeviceThatSeveralResourcesFitIsTheFirstOnes) {
  StartAll(
      "  - {name: a.com/near, strategies: [envvar], nvidia: {select: [{numa: 0}]}}\n"
      "  - {name: a.com/one, strategies: [envvar], policy: replicas, replicas: 3, nvidia: {select: "
      "[{index: 0}, {index: 4}]}}\n"
      "  - {name: a.com/rest, strategies: [envvar], nvidia: {}}\n"
      "  - {name: a.com/small, strategies: [envvar], nvidia: {mig: 1g.*, select: [{index: 7}]}}\n"
      "  - {name: a.com/mig, strategies: [envvar], nvidia: {mig: \"*\"}}\n",
      OnNode());
  Expect("a.com/near", 4, 4);
  Expect("a.com/one", 3, 3);
  Expect("a.com/rest", 1, 1);
  Expect("a.com/small", 2, 2);
  Expect("a.com/mig", 9, 9);
}

TEST_F(MigAgentTest, AFamilyIsOneResourceForEachProfileFound) {
  StartAll(std::string(kWhole) + kFamily, OnNode());
  Expect(kGpu, 6, 6);
  Expect(kOneG, 9, 9);
  Expect(kTwoG, 1, 1);
  Expect(kThreeG, 1, 1);
  EXPECT_EQ(Resources(), (std::vector<std::string>{kGpu, kOneG, kTwoG, kThreeG}));

  EXPECT_EQ(Visible(Run("a", {{kTwoG, 1}})), Gpu(7).mig[1].uuid);
}

TEST_F(MigAgentTest, AComputeInstanceSmallerThanItsGpuInstanceIsAResourceOfItsOwn) {
  node_.SetMig(7,
               "[{profile: 1c.2g.20gb, gi: 3, ci: 0, memory: 20096}, {profile: 1c.2g.20gb, gi: 3, "
               "ci: 1, memory: 20096}]");
  StartAll(std::string(kWhole) + kFamily, OnNode());
  Expect("nvidia.com/mig-1c.2g.20gb", 2, 2);
  Expect(kGpu, 6, 6);
  Expect(kOneG, 7, 7);
  EXPECT_EQ(Resources(), (std::vector<std::string>{kGpu, "nvidia.com/mig-1c.2g.20gb", kOneG}));

  EXPECT_EQ(Visible(Run("a", {{"nvidia.com/mig-1c.2g.20gb", 2}})),
            Gpu(7).mig[0].uuid + "," + Gpu(7).mig[1].uuid);
}

TEST_F(MigAgentTest, SeveralMigDevicesAreOfOneGpuAndOneIsOfTheGpuWithTheFewest) {
  StartAll(kFamily, OnNode());
  Expect(kOneG, 9, 9);

  EXPECT_EQ(Visible(Run("one", {{kOneG, 1}})), Gpu(7).mig[2].uuid);
  EXPECT_EQ(
      Visible(Run("three", {{kOneG, 3}})),
      Join(std::vector<std::string>{Gpu(6).mig[0].uuid, Gpu(6).mig[1].uuid, Gpu(6).mig[2].uuid},
           ","));
  EXPECT_EQ(Visible(Run("another", {{kOneG, 1}})), Gpu(7).mig[3].uuid);
}

TEST_F(MigAgentTest, ProfilesComeAndGoWhileOtherResourcesKeepTheirStreams) {
  StartAll(std::string(kWhole) + kFamily, OnNode());
  Expect(kThreeG, 1, 1);
  ASSERT_TRUE(AwaitResources({kGpu, kOneG, kTwoG, kThreeG}));

  node_.SetMig(7,
               "[{profile: 1g.10gb, gi: 9, memory: 9984}, {profile: 7g.80gb, gi: 0, memory: "
               "81152}]");

  Expect("nvidia.com/mig-7g.80gb", 1, 1);
  EXPECT_TRUE(AwaitResources({kGpu, kOneG, "nvidia.com/mig-7g.80gb"}));
  Expect(kOneG, 8, 8);
  EXPECT_EQ(Registrations(kGpu), 1);
  EXPECT_EQ(Registrations(kOneG), 1);
}

TEST_F(MigAgentTest, AnInstanceThatIsDestroyedInUseStaysUnhealthyUntilItsPodEnds) {
  StartAll(std::string(kWhole) + kFamily, OnNode());
  Expect(kTwoG, 1, 1);
  const std::string held = Visible(Run("a", {{kTwoG, 1}}));
  ASSERT_TRUE(AwaitHolding());

  node_.SetMig(7, "off");

  Expect(kTwoG, 1, 0);
  EXPECT_TRUE(AwaitReason(held, "vanished"));
  Expect(kGpu, 7, 6);
  EXPECT_TRUE(AwaitReason(Gpu(7).uuid, "held-elsewhere"));
  EXPECT_TRUE(AwaitResources({kGpu, kOneG, kTwoG}));
  ASSERT_TRUE(kubelet_->EndPod("default", "a"));
  EXPECT_TRUE(AwaitResources({kGpu, kOneG}));
  Expect(kGpu, 7, 7);
}

TEST_F(MigAgentTest, AProfileThatIsNotKnownTakesOutItsGpuAndNoOtherUntilItIsGone) {
  constexpr char kBefore[] =
      "[{profile: 3g.40gb, gi: 2, memory: 40448, uuid: MIG-held}, {profile: 1g.10gb, gi: 9, "
      "memory: "
      "9984, uuid: MIG-free}]";
  constexpr char kAfter[] =
      "[{profile: 3g.40gb, gi: 2, memory: 40448, uuid: MIG-held}, {profile: 1g.10gb, gi: 9, "
      "memory: "
      "9984, uuid: MIG-free}, {profile: 2g.20gb, gi: 3, memory: 20096, uuid: MIG-new}]";
  const std::string path = node_.directory() + "/usr/lib64/fake-nvml.yaml";
  std::string hardware = os::ReadFile(path).value();
  hardware.replace(hardware.find("- {profile: 1, id: 14"), 21, "- {profile: 18, id: 14");
  node_.SetHardware(hardware);
  node_.SetMig(7, kBefore);
  StartAll(kFamily, OnNode());
  Expect(kOneG, 8, 8);
  Expect(kThreeG, 1, 1);
  EXPECT_EQ(Visible(Run("a", {{kThreeG, 1}})), "MIG-held");
  ASSERT_TRUE(AwaitHolding());

  node_.SetMig(7, kAfter);

  Expect(kOneG, 8, 7);
  Expect(kTwoG, 1, 0);
  Expect(kThreeG, 1, 0);
  for (const char* id : {"MIG-held", "MIG-free", "MIG-new"}) {
    EXPECT_TRUE(AwaitReason(id, "mig-layout")) << id;
  }
  EXPECT_TRUE(AwaitLog(
      "WARN device unhealthy device=nvidia.com/mig-1g.10gb/MIG-free from=healthy reason=mig-layout "
      "error=\"GPU 7 has the MIG device MIG-new, of a profile of the size of 2g.20gb that is not "
      "known here: make it of another profile\""));

  node_.SetMig(7, kBefore);
  Expect(kOneG, 8, 8);
  Expect(kThreeG, 1, 1);
  EXPECT_TRUE(AwaitResources({kOneG, kThreeG}));
}

TEST_F(MigAgentTest, AFamilysResourcesAreKnownToTheNextStart) {
  StartAll(std::string(kWhole) + kFamily, OnNode());
  Expect(kTwoG, 1, 1);
  Expect(kOneG, 9, 9);
  const std::string held = Visible(Run("a", {{kTwoG, 1}}));
  EndAgent(SIGKILL, kTwoG);

  node_.RemoveDriver();
  agent_ = StartAgent();
  Expect(kTwoG, 1, 0);
  Expect(kOneG, 9, 0);

  node_.InstallDriver();
  Expect(kTwoG, 1, 1);
  Expect(kOneG, 9, 9);
}

TEST_F(MigAgentTest, AReloadOfOneFamilyLeavesOtherResourcesAlone) {
  const std::string small =
      "  - {name: \"nvidia.com/mig-{profile}\", strategies: [envvar], policy: replicas, replicas: "
      "4, nvidia: {mig: 1g.10gb}}\n";
  StartAll(std::string(kWhole) + kFamily, OnNode());
  Expect(kOneG, 9, 9);
  Expect(kTwoG, 1, 1);
  Expect(kThreeG, 1, 1);

  WriteConfig(Config(std::string(kWhole) + small + kFamily, OnNode()));
  Expect(kOneG, 36, 36);
  WriteConfig(Config(std::string(kWhole) + small, OnNode()));
  EXPECT_TRUE(AwaitResources({kGpu, kOneG}));

  Expect(kOneG, 36, 36);
  EXPECT_EQ(Registrations(kGpu), 1);
  EXPECT_EQ(Registrations(kOneG), 1);
}

TEST_F(MigAgentTest, AGpuThatAReloadGivesToAnotherResourceIsNotGrantedTwice) {
  const std::string all = kWhole;
  const std::string first =
      "  - {name: a.com/first, strategies: [envvar], nvidia: {select: [{index: 0}]}}\n";
  node_.SetGpus(1);
  StartAll(all, OnNode());
  Expect(kGpu, 1, 1);
  EXPECT_EQ(Visible(Run("a", {{kGpu, 1}})), Gpu(0).uuid);
  ASSERT_TRUE(AwaitHolding());

  WriteConfig(Config(first + all, OnNode()));
  Expect("a.com/first", 1, 0);
  Expect(kGpu, 1, 0);
  EXPECT_TRUE(AwaitLog("configuration reloaded"));

  ASSERT_TRUE(kubelet_->EndPod("default", "a"));
  Expect("a.com/first", 1, 1);
  Expect(kGpu, 0, 0);
}

TEST_F(MigAgentTest, AGpuWhoseResourceIsRenamedIsNotGrantedTwice) {
  constexpr char kRenamed[] = "  - {name: a.com/gpu, strategies: [envvar], nvidia: {}}\n";
  node_.SetGpus(2);
  StartAll(kWhole, OnNode());
  Expect(kGpu, 2, 2);
  EXPECT_EQ(Visible(Run("a", {{kGpu, 1}})), Gpu(0).uuid);
  ASSERT_TRUE(AwaitHolding());

  WriteConfig(Config(kRenamed, OnNode()));
  Expect("a.com/gpu", 2, 1);
  EndAgent(SIGTERM, "a.com/gpu");
  agent_ = StartAgent();
  Expect("a.com/gpu", 2, 1);

  ASSERT_TRUE(kubelet_->EndPod("default", "a"));
  Expect("a.com/gpu", 2, 2);
}

TEST_F(MigAgentTest, GpusThatArePluggedAndUnpluggedComeAndGo) {
  node_.SetGpus(6);
  StartAll(kWhole, OnNode());
  Expect(kGpu, 6, 6);

  node_.SetGpus(7);
  Expect(kGpu, 7, 7);

  EXPECT_TRUE(Run("a", {{kGpu, 7}}).admitted);
  ASSERT_TRUE(AwaitHolding());
  node_.SetGpus(5);
  Expect(kGpu, 7, 5);
  ASSERT_TRUE(kubelet_->EndPod("default", "a"));
  Expect(kGpu, 5, 5);
}

class SingleMigAgentTest : public MigAgentTest {
 protected:
  SingleMigAgentTest() {
    for (size_t gpu = 0; gpu < 8; ++gpu) node_.SetMig(gpu, kSeven);
  }
  static constexpr char kSeven[] =
      "[{profile: 1g.10gb, gi: 7, memory: 9984}, {profile: 1g.10gb, gi: 8, memory: 9984}]";
  static constexpr char kDevices[] =
      "  - {name: nvidia.com/gpu, strategies: [envvar], nvidia: {inMigMode: devices}}\n";
};

TEST_F(SingleMigAgentTest, OneOddGpuIsOutUntilItIsDividedAsTheOthers) {
  StartAll(kDevices, OnNode());
  Expect(kGpu, 16, 16);

  node_.SetMig(3, "off");
  Expect(kGpu, 15, 14);
  EXPECT_TRUE(AwaitReason(Gpu(3).uuid, "mig-layout"));

  node_.SetMig(3, "[]");
  Expect(kGpu, 15, 14);
  node_.SetMig(3, kSeven);
  Expect(kGpu, 16, 16);
}

}  // namespace
}  // namespace tessera
