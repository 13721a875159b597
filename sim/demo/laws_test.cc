// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/laws.h"

#include <gtest/gtest.h>

#include "sim/demo/observations_for_test.h"

namespace tessera::demo {
namespace {

class LawsTest : public ::testing::Test {
 protected:
  LawsTest() { Check(WithEnv()); }
  std::vector<Breach> Check(What what, std::vector<kubelet::ResourceStatus> resources = {}) {
    return laws_.Check(Saw(std::move(what), std::move(resources)));
  }
  Laws laws_;
};
using Breaches = std::vector<Breach>;

TEST_F(LawsTest, GoodGrantsBreakNothing) {
  EXPECT_EQ(Check(Admitted("a", {"0", "1"})), Breaches());
  EXPECT_EQ(Check(Admitted("b", {"2"})), Breaches());
  EXPECT_EQ(laws_.checked().at(Law::kOneHolder), 2);
}

TEST_F(LawsTest, OneShareForTwoPodsBreaksOneHolder) {
  Check(Admitted("a", {"7"}));
  EXPECT_EQ(
      Check(Admitted("b", {"7"})),
      Breaches({{Law::kOneHolder, "b main was granted dummy.com/npu 7, which a main holds"}}));
}

TEST_F(LawsTest, ShareOfAnEndedPodIsFree) {
  Check(Admitted("a", {"7"}));
  Check(PodEnded{"a"});
  EXPECT_EQ(Check(Admitted("b", {"7"})), Breaches());
}

TEST_F(LawsTest, InitContainerHandsItsSharesOn) {
  PodTried tried = Admitted("a", {"7"});
  tried.pod.containers.push_back(
      {kInitContainer, kubelet::ContainerSpec::Kind::kInit, {{kNpu, 1}}});
  kubelet::ContainerGrant init = tried.admission.grants[0];
  init.container = kInitContainer;
  tried.admission.grants.insert(tried.admission.grants.begin(), init);
  EXPECT_EQ(Check(tried), Breaches());
}

TEST_F(LawsTest, SidecarAndMainMayNotShare) {
  PodTried tried = Admitted("a", {"7"});
  tried.pod.containers.push_back(
      {kSidecarContainer, kubelet::ContainerSpec::Kind::kSidecar, {{kNpu, 1}}});
  kubelet::ContainerGrant sidecar = tried.admission.grants[0];
  sidecar.container = kSidecarContainer;
  tried.admission.grants.push_back(sidecar);
  EXPECT_EQ(
      Check(tried),
      Breaches({{Law::kOneHolder, "a sidecar was granted dummy.com/npu 7, which a main holds"}}));
}

TEST_F(LawsTest, ShareThatWasUnhealthyBreaksHealthyOnly) {
  PodTried tried = Admitted("a", {"3"});
  tried.sick = {"dummy.com/npu 3"};
  EXPECT_EQ(
      Check(tried),
      Breaches({{Law::kHealthyOnly, "a main was granted dummy.com/npu 3, which was Unhealthy"}}));
}

TEST_F(LawsTest, FewerThanAskedForBreaksExact) {
  PodTried tried = Admitted("a", {"3"});
  tried.pod.containers[0].limits[kNpu] = 2;
  EXPECT_EQ(Check(tried),
            Breaches({{Law::kExact, "a main asked for 2 of dummy.com/npu and was granted 3"}}));
}

TEST_F(LawsTest, EnvironmentThatNamesOthersBreaksExact) {
  PodTried tried = Admitted("a", {"2", "10"});
  tried.admission.grants[0].response.envs["DUMMY_VISIBLE_DEVICES"] = "10,2";
  EXPECT_EQ(Check(tried), Breaches({{Law::kExact,
                                     "a main was granted 2,10 of dummy.com/npu, but "
                                     "DUMMY_VISIBLE_DEVICES says 10,2"}}));
}

TEST_F(LawsTest, EnvironmentNamesADeviceOnceWhateverItsReplicas) {
  PodTried tried = Admitted("a", {"2::0", "2::1", "5::0"});
  tried.admission.grants[0].response.envs["DUMMY_VISIBLE_DEVICES"] = "2,5";
  EXPECT_EQ(Check(tried), Breaches());
}

TEST_F(LawsTest, HeldDeviceThatLeavesTheListBreaksHeldStays) {
  Check(FaultMade{{.verb = "hide", .resource = kNpu, .device = "3"}});
  Check(Admitted("a", {"3"}));
  EXPECT_EQ(Check(Listed(), {Npus(3)}),
            Breaches({{Law::kHeldStays, "dummy.com/npu 3 left the list while a holds it"}}));
}

TEST_F(LawsTest, DeviceThatLeavesForNoReasonBreaksNothingLost) {
  EXPECT_EQ(Check(Listed(), {Npus(4)}), Breaches());
  EXPECT_EQ(Check(Listed(), {Npus(3)}),
            Breaches({{Law::kNothingLost,
                       "dummy.com/npu 3 left the list and nothing had happened to it"}}));
}

TEST_F(LawsTest, SoundDeviceThatTurnsUnhealthyBreaksNothingLost) {
  Check(Listed(), {Npus(4)});
  kubelet::ResourceStatus after = Npus(4);
  after.devices[2].healthy = false;
  EXPECT_EQ(Check(Listed(), {after}),
            Breaches({{Law::kNothingLost,
                       "dummy.com/npu 2 turned Unhealthy and nothing had happened to it"}}));
}

TEST_F(LawsTest, DeviceTheScenarioTouchedMayTurnUnhealthy) {
  Check(Listed(), {Npus(4)});
  Check(FaultMade{{.verb = "fail", .resource = kNpu, .device = "2"}});
  kubelet::ResourceStatus after = Npus(4);
  after.devices[2].healthy = false;
  EXPECT_EQ(Check(Listed(), {after}), Breaches());
}

TEST_F(LawsTest, AllDevicesMayTurnUnhealthyWhenAllAreLost) {
  Check(Listed(), {Npus(1)});
  Check(FaultMade{{.verb = "lose-all", .resource = kNpu}});
  kubelet::ResourceStatus after = Npus(1);
  after.devices[0].healthy = false;
  EXPECT_EQ(Check(Listed(), {after}), Breaches());
}

TEST_F(LawsTest, UnverifiedDevicesOfTheFirstListAreNoLoss) {
  kubelet::ResourceStatus first = Npus(2);
  for (kubelet::DeviceStatus& device : first.devices) device.healthy = false;
  EXPECT_EQ(Check(Listed(), {first}), Breaches());
  EXPECT_EQ(Check(Listed(), {Npus(2)}), Breaches());
}

TEST_F(LawsTest, AnotherConfigurationMayOfferFewer) {
  Check(Listed(), {Npus(4)});
  Check(WithEnv());
  EXPECT_EQ(Check(Listed(), {Npus(2)}), Breaches());
}

TEST_F(LawsTest, BrokenConfigurationMayNotOfferFewer) {
  Check(Listed(), {Npus(3)});
  Check(Configured{.envs = {}, .first = false, .broken = true});
  EXPECT_EQ(Check(Listed(), {Npus(2)}),
            Breaches({{Law::kNothingLost,
                       "dummy.com/npu 2 left the list and nothing had happened to it"}}));
}

Holding HoldingOf(const std::string& pod, std::vector<std::string> ids) {
  return {.pod_namespace = "default",
          .pod = pod,
          .pod_uid = "",
          .container = kMainContainer,
          .resource = kNpu,
          .share_ids = std::move(ids)};
}

const std::vector<HardwareDevice> kTwoGpus = {{"0", "GPU-b", "big"}, {"1", "GPU-a", "big"}};

Configured WithGpus(const std::string& name = kGpu) {
  return {.envs = {{name, "VISIBLE"}}, .first = true, .broken = false};
}
PodTried AdmittedTo(const std::string& resource, const std::string& said) {
  PodTried tried = Admitted("a", {"GPU-a", "GPU-b"});
  tried.pod.containers[0].limits = {{resource, 2}};
  tried.admission.grants[0].resource = resource;
  tried.admission.grants[0].response.envs = {{"VISIBLE", said}};
  return tried;
}

TEST_F(LawsTest, GpusAreNamedInTheOrderOfTheirIndices) {
  Check(WithGpus());
  Check(HardwareMade{{}, kTwoGpus});
  EXPECT_EQ(Check(AdmittedTo(kGpu, "GPU-b,GPU-a")), Breaches());
  Check(PodEnded{"a"});
  EXPECT_EQ(Check(AdmittedTo(kGpu, "GPU-a,GPU-b")),
            Breaches({{Law::kExact,
                       "a main was granted GPU-b,GPU-a of nvidia.com/gpu, but VISIBLE "
                       "says GPU-a,GPU-b"}}));
}

TEST_F(LawsTest, AFamilysVariableIsThatOfAllItsResources) {
  Check(WithGpus("nvidia.com/mig-{profile}"));
  EXPECT_EQ(Check(AdmittedTo("nvidia.com/mig-1g.10gb", "nothing")),
            Breaches({{Law::kExact,
                       "a main was granted GPU-a,GPU-b of nvidia.com/mig-1g.10gb, but VISIBLE "
                       "says nothing"}}));
}

TEST_F(LawsTest, AChangeOfTheHardwareExcusesTheDevicesItIsAboutAndNoOthers) {
  Check(HardwareMade{{}, kTwoGpus});
  kubelet::ResourceStatus gpus = Gpus({"GPU-a", "GPU-b"});
  KubeletTold told = Listed();
  told.event.resource = kGpu;
  Check(told, {gpus});
  Check(HardwareMade{ChangeHardware{}, {kTwoGpus[1]}});
  gpus.devices[0].healthy = gpus.devices[1].healthy = false;
  EXPECT_EQ(Check(told, {gpus}),
            Breaches({{Law::kNothingLost,
                       "nvidia.com/gpu GPU-b turned Unhealthy and nothing had happened to it"}}));
}

// GPUs, cards and their pairs.
class PairLawsTest : public LawsTest {
 protected:
  PairLawsTest() {
    Check(Configured{
        .envs = {}, .first = true, .broken = false, .paired = {"a/gpu", "a/nic", "a/pair"}});
    for (const char* const resource : {"a/gpu", "a/nic", "a/pair"}) List(resource, true);
  }
  // The resource lists its device, in this health.
  std::vector<Breach> List(const std::string& resource, bool healthy) {
    const std::string id = resource == "a/gpu"   ? "gpu0"
                           : resource == "a/nic" ? "nic0"
                                                 : "gpu0_nic0";
    kubelet::ResourceStatus status = Gpus({id});
    status.name = resource;
    status.devices[0].healthy = healthy;
    KubeletTold told = Listed();
    told.event.resource = resource;
    return Check(told, {status});
  }
  static PodTried AdmittedAPair() {
    PodTried tried = Admitted("a", {"gpu0_nic0"});
    tried.pod.containers[0].limits = {{"a/pair", 1}};
    tried.admission.grants[0].resource = "a/pair";
    return tried;
  }
};

TEST_F(PairLawsTest, PartsOfAGrantedPairAreOutInTheirOwnResources) {
  EXPECT_EQ(List("a/gpu", false), Breaches());  // before kubelet has told of the grant
  EXPECT_EQ(Check(AdmittedAPair()), Breaches());
  EXPECT_EQ(List("a/nic", false), Breaches());
}

TEST_F(PairLawsTest, APartThatIsOutWithoutAGrantBreaksNothingLost) {
  EXPECT_EQ(List("a/gpu", false), Breaches());
  EXPECT_EQ(Check(Admitted("b", {"7"})),
            Breaches({{Law::kNothingLost,
                       "a/gpu gpu0 turned Unhealthy and nothing had happened to it"}}));
}

TEST_F(PairLawsTest, APartMayBeOutUntilTheAgentKnowsWhoHasIt) {
  EXPECT_EQ(List("a/gpu", false), Breaches());
  EXPECT_EQ(List("a/gpu", true), Breaches());
  EXPECT_EQ(Check(Admitted("b", {"7"})), Breaches());
}

TEST_F(PairLawsTest, APairThatIsOutThoughAPodHasItBreaksNothingLost) {
  EXPECT_EQ(Check(AdmittedAPair()), Breaches());
  EXPECT_EQ(List("a/pair", false), Breaches());
  EXPECT_EQ(Check(Admitted("b", {"7"})),
            Breaches({{Law::kNothingLost,
                       "a/pair gpu0_nic0 turned Unhealthy and nothing had happened to it"}}));
}

TEST_F(PairLawsTest, AChangeOfAPartExcusesThePair) {
  Check(HardwareMade{ChangeHardware{}, {{"0", "nic0", "card"}}});
  EXPECT_EQ(List("a/pair", false), Breaches());
  EXPECT_EQ(Check(Admitted("b", {"7"})), Breaches());
}

class LimitsTest : public LawsTest {
 protected:
  LimitsTest() {
    Check(TwoGpus());
    Check(DividedByTen());
  }
  std::vector<Breach> CheckLimits(std::vector<std::string> ids,
                                  std::map<std::string, std::string> variables) {
    return Check(LimitsRead{{LimitsOf("a", std::move(ids), std::move(variables))}});
  }
};
using Variables = std::map<std::string, std::string>;
const Variables kTenth = {{"CUDA_DEVICE_MEMORY_LIMIT_0", "8156m"},
                          {"CUDA_DEVICE_SM_LIMIT", "10"},
                          {"CUDA_DEVICE_SM_LIMIT_0", "10"}};

TEST_F(LimitsTest, LimitsOfSeveralGpusAreByIndexAndTheLeastComputeTimeIsThatOfAll) {
  EXPECT_EQ(CheckLimits({SecondGpu(4), FirstGpu(0), FirstGpu(1)},
                        {{"CUDA_DEVICE_MEMORY_LIMIT_0", "16312m"},
                         {"CUDA_DEVICE_MEMORY_LIMIT_1", "4096m"},
                         {"CUDA_DEVICE_SM_LIMIT", "10"},
                         {"CUDA_DEVICE_SM_LIMIT_0", "20"},
                         {"CUDA_DEVICE_SM_LIMIT_1", "10"},
                         {"ANOTHER", "one"}}),
            Breaches());
  EXPECT_EQ(laws_.checked().at(Law::kExactLimits), 1);
}

TEST_F(LimitsTest, MoreThanTheSharesAreWorthBreaksExactLimits) {
  Variables more = kTenth;
  more["CUDA_DEVICE_SM_LIMIT"] = "20";
  EXPECT_EQ(CheckLimits({FirstGpu(3)}, more),
            Breaches({{Law::kExactLimits,
                       "a main was granted " + FirstGpu(3) +
                           " of nvidia.com/gpu, worth CUDA_DEVICE_MEMORY_LIMIT_0=8156m "
                           "CUDA_DEVICE_SM_LIMIT=10 CUDA_DEVICE_SM_LIMIT_0=10, but is limited to "
                           "CUDA_DEVICE_MEMORY_LIMIT_0=8156m CUDA_DEVICE_SM_LIMIT=20 "
                           "CUDA_DEVICE_SM_LIMIT_0=10"}}));
}

TEST_F(LimitsTest, ContainerThatIsToldNothingBreaksExactLimits) {
  EXPECT_EQ(
      CheckLimits({FirstGpu(3)}, {}),
      Breaches(
          {{Law::kExactLimits,
            "a main was granted " + FirstGpu(3) +
                " of nvidia.com/gpu, worth CUDA_DEVICE_MEMORY_LIMIT_0=8156m "
                "CUDA_DEVICE_SM_LIMIT=10 CUDA_DEVICE_SM_LIMIT_0=10, but is limited to nothing"}}));
}

TEST_F(LimitsTest, AnotherDivisionLeavesARunningContainerWhatItHas) {
  CheckLimits({FirstGpu(3)}, kTenth);
  Configured halved = DividedByTen();
  halved.vgpus[kGpu].division.parts = 2;
  Check(halved);
  EXPECT_EQ(CheckLimits({FirstGpu(3)}, kTenth), Breaches());
}

TEST_F(LimitsTest, ContainerThatCouldNotStartNeedsNoLimitsUntilItDoes) {
  PodTried tried = Admitted("a", {FirstGpu(3)});
  tried.admission.grants[0].resource = kGpu;
  tried.pod.containers[0].limits = {{kGpu, 1}};
  tried.admission.start_failures = {{kMainContainer, "no library"}};
  Check(tried);
  EXPECT_EQ(CheckLimits({FirstGpu(3)}, {}), Breaches());

  Check(ContainerRestarted{"a", kMainContainer, std::nullopt});
  EXPECT_EQ(CheckLimits({FirstGpu(3)}, {}).size(), 1U);
}

TEST_F(LawsTest, LedgerThatAgreesBreaksNothing) {
  Check(Admitted("a", {"2", "10"}));
  EXPECT_EQ(Check(LedgerRead{{HoldingOf("a", {"10", "2"})}}), Breaches());
}

TEST_F(LawsTest, LedgerThatDiffersBreaksLedgerAgrees) {
  Check(Admitted("a", {"1"}));
  EXPECT_EQ(
      Check(LedgerRead{{HoldingOf("b", {"1"})}}),
      Breaches(
          {{Law::kLedgerAgrees, "a main holds dummy.com/npu 1 according to kubelet only"},
           {Law::kLedgerAgrees, "b main holds dummy.com/npu 1 according to the ledger only"}}));
}

TEST_F(LawsTest, RefusedPodHoldsNothing) {
  PodTried tried = Admitted("a", {"1"});
  tried.admission = {};
  Check(tried);
  EXPECT_EQ(Check(Admitted("b", {"1"})), Breaches());
}

}  // namespace
}  // namespace tessera::demo
