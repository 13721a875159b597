// SPDX-License-Identifier: Apache-2.0
#include "report/hami_registration.h"

#include <gtest/gtest.h>

#include "backend/labeller.h"
#include "hami/vendor_table.h"
#include "node/node_under_test.h"
#include "version.h"

namespace tessera {
namespace {

const std::string kGpus = "nvidia.com/gpu";
constexpr char kFirst[] = "GPU-8dcd427f-483b-b48f-d7e5-75fb19a52b76";
constexpr char kSecond[] = "GPU-ebe7c3f7-303d-558d-435e-99a160631fe4";
constexpr char kBoth[] =
    R"([{"id":"GPU-8dcd427f-483b-b48f-d7e5-75fb19a52b76","count":10,"devmem":81920,"devcore":100,)"
    R"("type":"NVIDIA A100-SXM4-80GB","mode":"hami-core","health":true},)"
    R"({"id":"GPU-ebe7c3f7-303d-558d-435e-99a160631fe4","index":1,"count":10,"devmem":81920,)"
    R"("devcore":100,"type":"NVIDIA A100-SXM4-80GB","numa":1,"mode":"hami-core","health":true}])";

// A GPU with this NVML index.
Device Gpu(const std::string& uuid, int index, const std::string& source = kGpus) {
  Device device;
  device.key = {source, uuid};
  device.model = "NVIDIA A100-SXM4-80GB";
  device.visible_as = uuid;
  device.numa_nodes = {index};
  device.order = index * 64;
  device.memory = 81920;
  return device;
}

config::Resource Requested(const std::string& name = kGpus) {
  config::Resource resource;
  resource.name = name;
  resource.policy = {Division::kVgpu, 10, Separator::kDash};
  FractionRules& vgpu = resource.rendering.fractions.emplace();
  vgpu.parts = 10;
  vgpu.requests = hami::kNvidia.Requests();
  vgpu.registration = {.order_step = 64};
  return resource;
}

FractionRegistration& SettingsOf(config::Resource& resource) {
  return *resource.rendering.fractions->registration;
}

json::Value NodeWith(const Labels& annotations) {
  json::Object object;
  for (const auto& [key, value] : annotations) object[key] = value;
  return json::Object{{"metadata", json::Object{{"annotations", std::move(object)}}}};
}

class RegistrationTest : public NodeUnderTest, public testing::Test {
 protected:
  void Find(const std::vector<Device>& devices, const std::string& source = kGpus) {
    node_.UpdateDevices(source, devices);
    std::vector<Observation> good;
    for (const Device& device : devices) {
      if (device.defect) continue;
      good.push_back(
          {device.key, {EvidenceKind::kGood, EvidenceSource::kCheck, Reason::kCheckFailed, ""}});
    }
    node_.Observe(source, good);
  }
  std::string Devices() { return RegistrationOf(node_, resources_)->devices; }
  std::string Scores() {
    SettingsOf(resources_[0]).link_scores = true;
    return RegistrationOf(node_, resources_)->scores.value();
  }

  std::vector<config::Resource> resources_ = {Requested()};
};

TEST_F(RegistrationTest, HasTheGpusAsHamiWritesThemByTheirIndex) {
  Find({Gpu(kSecond, 1), Gpu(kFirst, 0)});

  EXPECT_EQ(RegistrationOf(node_, resources_), HamiRegistration{.devices = kBoth});
}

TEST_F(RegistrationTest, ThereIsNoneWithoutAResourceThatIsToBeRegistered) {
  Find({Gpu(kFirst, 0)});
  config::Resource silent = Requested();
  silent.rendering.fractions->registration.reset();
  config::Resource equal = Requested();
  equal.rendering.fractions->requests.reset();
  config::Resource whole = Requested();
  whole.rendering.fractions.reset();

  EXPECT_EQ(RegistrationOf(node_, {}), std::nullopt);
  EXPECT_EQ(RegistrationOf(node_, {silent, equal, whole, config::Resource()}), std::nullopt);
}

TEST_F(RegistrationTest, ANodeWithoutGpusSaysSo) {
  EXPECT_EQ(Devices(), "[]");
}

TEST_F(RegistrationTest, AGpuThatIsOutHasNoHealth) {
  Find({Gpu(kFirst, 0)});
  const std::string healthy = Devices();
  ASSERT_TRUE(healthy.ends_with(R"("mode":"hami-core","health":true}])"));
  const std::string sick = healthy.substr(0, healthy.find(R"(,"health")")) + "}]";

  ASSERT_TRUE(node_.Cordon(kFirst, "test"));
  EXPECT_EQ(Devices(), sick);
  ASSERT_TRUE(node_.Uncordon(kFirst));
  EXPECT_EQ(Devices(), healthy);
  node_.Observe(kGpus, {{{kGpus, kFirst},
                         {EvidenceKind::kFatal, EvidenceSource::kEvent, Reason::kFatalEvent, ""}}});
  EXPECT_EQ(Devices(), sick);
}

TEST_F(RegistrationTest, AGpuThatIsLostWhileItMayBeInUseHasNoHealth) {
  Find({Gpu(kFirst, 0), Gpu(kSecond, 1)});
  node_.ledger().inbox()->Put(kGpus, {std::string(kFirst) + "-0"}, clock_.Now());

  Find({Gpu(kSecond, 1)});

  std::string expected = kBoth;
  expected.erase(expected.find(R"(,"health":true)"), std::string(R"(,"health":true)").size());
  EXPECT_EQ(Devices(), expected);
}

TEST_F(RegistrationTest, AGpuThatCannotBeReadLeavesTheOthersRegistered) {
  Device unknown;
  unknown.key = {kGpus, "unreadable-2"};
  unknown.defect = Error{Reason::kUnreadable, "it does not answer"};

  Find({Gpu(kFirst, 0), Gpu(kSecond, 1), unknown});

  EXPECT_EQ(Devices(), kBoth);
}

TEST_F(RegistrationTest, AGpuWhoseFormerSharesAreHeldGetsNoMorePods) {
  Find({Gpu(kFirst, 0)});
  const std::string healthy = Devices();
  node_.SetPlan(kGpus, {{}, {{kFirst, {kFirst}}}});

  EXPECT_EQ(Devices(), healthy.substr(0, healthy.find(R"(,"health")")) + "}]");
}

TEST_F(RegistrationTest, MigDevicesAreNone) {
  Device mig = Gpu("MIG-1", 0);
  mig.parent = kFirst;
  Find({mig});

  EXPECT_EQ(Devices(), "[]");
}

TEST_F(RegistrationTest, MemoryAndCoresAreScaled) {
  resources_[0].rendering.fractions->memory_scaling = 1.8;
  resources_[0].rendering.fractions->core_scaling = 1.5;
  resources_[0].rendering.fractions->parts = 4;
  Device gpu = Gpu("GPU-a", 0);
  gpu.model = "Tesla P4";
  gpu.numa_nodes = {};
  gpu.memory = 7611;
  Find({gpu});

  EXPECT_EQ(Devices(), R"([{"id":"GPU-a","count":4,"devmem":13699,"devcore":150,)"
                       R"("type":"NVIDIA-Tesla P4","mode":"hami-core","health":true}])");
}

TEST_F(RegistrationTest, AmdGpusHaveTheirComputeUnitsAndAddress) {
  resources_ = {Requested("amd.com/gpu")};
  FractionRules& rules = *resources_[0].rendering.fractions;
  rules.requests = hami::kAmd.Requests();
  rules.core_capacity = "cu";
  Device device = Gpu("8eff74b5-0000-1000-801b-b56457addd1b", 0, "amd.com/gpu");
  device.model = "AMD Instinct MI300X VF";
  device.address = "0000:83:00.0";
  device.memory = 196'288;
  device.traits = DeviceTraits{.capacities = {{"cu", 304}}};
  Find({device}, "amd.com/gpu");

  const auto registration = RegistrationOf(node_, resources_);

  EXPECT_EQ(registration->devices,
            R"([{"id":"8eff74b5-0000-1000-801b-b56457addd1b","count":10,"devmem":196288,)"
            R"("devcore":304,"type":"AMD Instinct MI300X VF","health":true,"devicevendor":"amd",)"
            R"("custominfo":{"pciBDF":"0000:83:00.0"}}])");
  const json::Value node = NodeWith({});
  const std::string patch =
      json::Write(*RegistrationPatch(*registration, {}, node, Wall(), Duration(0)));
  EXPECT_NE(patch.find(R"("hami.io/node-amd-register")"), std::string::npos) << patch;
  EXPECT_EQ(patch.find("nvidia"), std::string::npos) << patch;
  EXPECT_EQ(patch.find("handshake"), std::string::npos) << patch;
}

constexpr char kAscendNpus[] = "huawei.com/Ascend910B3";
constexpr char kNpuDie[] = "42C711D4-20B03704-4A10C8D4-14CC040A-D2102005";

config::Resource AscendNpus(const char* word) {
  config::Resource resource = Requested(kAscendNpus);
  FractionRules& rules = *resource.rendering.fractions;
  rules.parts = 4;
  rules.requests = hami::AscendRow(word)->vendor->Requests();
  return resource;
}

Device AscendNpu(int index) {
  Device device = Gpu(kNpuDie, index, kAscendNpus);
  device.model = "Ascend910B3";
  device.memory = 65'536;
  device.traits = DeviceTraits{.capacities = {{"aicores", 20}}};
  return device;
}

TEST_F(RegistrationTest, AscendsChipsAreWrittenAsItsPluginDoes) {
  resources_ = {AscendNpus("Ascend910B3")};
  Find({AscendNpu(5)}, kAscendNpus);
  EXPECT_EQ(Devices(),
            std::string(R"([{"id":")") + kNpuDie +
                R"(","index":5,"count":4,"devmem":65536,"devcore":20,"type":"Ascend910B3",)"
                R"("health":true,"custominfo":{"NetworkID":1}}])");
  Find({AscendNpu(0)}, kAscendNpus);
  EXPECT_EQ(Devices(), std::string(R"([{"id":")") + kNpuDie +
                           R"(","count":4,"devmem":65536,"devcore":20,"type":"Ascend910B3",)"
                           R"("health":true,"custominfo":{"NetworkID":0}}])");
}

TEST_F(RegistrationTest, ASickChipOfAscendsHasNoHealthUntilItReturns) {
  resources_ = {AscendNpus("Ascend910B3")};
  Find({AscendNpu(0)}, kAscendNpus);
  const std::string healthy = Devices();
  Device sick = AscendNpu(0);
  sick.defect = Error{Reason::kUnavailable, "it has vNPUs that the agent did not make"};
  Find({sick}, kAscendNpus);
  std::string expected = healthy;
  expected.erase(expected.find(R"("health":true,)"), std::string(R"("health":true,)").size());
  EXPECT_EQ(Devices(), expected);
  Find({AscendNpu(0)}, kAscendNpus);
  EXPECT_EQ(Devices(), expected) << "it is on probation";
  clock_.Advance(HealthPolicy().recovery);
  Find({AscendNpu(0)}, kAscendNpus);
  EXPECT_EQ(Devices(), healthy);
}

TEST_F(RegistrationTest, TheGpusOfAllResourcesAreOneList) {
  resources_ = {Requested("nvidia.com/a"), Requested("nvidia.com/b")};
  Find({Gpu(kSecond, 1, "nvidia.com/a")}, "nvidia.com/a");
  Find({Gpu(kFirst, 0, "nvidia.com/b")}, "nvidia.com/b");

  EXPECT_EQ(Devices(), kBoth);
}

TEST_F(RegistrationTest, ScoresAreThePointsOfLinks) {
  Device a = Gpu("GPU-a", 0);
  Device b = Gpu("GPU-b", 1);
  Device c = Gpu("GPU-c", 2);
  a.links = {{"GPU-b", 1220}, {"GPU-c", 20}};
  b.links = {{"GPU-a", 1220}, {"GPU-c", 20}};
  c.links = {{"GPU-a", 20}, {"GPU-b", 120}};
  Find({a, b, c});

  // The links between the last two differ by direction.
  EXPECT_EQ(Scores(), R"([{"uuid":"GPU-a","score":{"GPU-b":1220,"GPU-c":20}},)"
                      R"({"uuid":"GPU-b","score":{"GPU-a":1220,"GPU-c":0}},)"
                      R"({"uuid":"GPU-c","score":{"GPU-a":20,"GPU-b":0}}])");
  EXPECT_EQ(RegistrationOf(node_, resources_)->asymmetric,
            std::vector<std::string>{"GPU-b and GPU-c"});
}

TEST_F(RegistrationTest, AGpuOfWhichNothingIsKnownIsNearToNone) {
  Device a = Gpu("GPU-a", 0);
  a.links = {{"GPU-x", 20}};
  Find({a, Gpu("GPU-b", 1)});

  EXPECT_EQ(Scores(), R"([{"uuid":"GPU-a","score":{"GPU-b":0}},)"
                      R"({"uuid":"GPU-b","score":{"GPU-a":0}}])");
}

TEST_F(RegistrationTest, PodsAreFittedInWhereAllResourcesDoThat) {
  EXPECT_FALSE(RegistrationOf(node_, resources_)->fits_unplaced);
  resources_[0].rendering.fractions->requests->fit_unplaced = true;
  EXPECT_TRUE(RegistrationOf(node_, resources_)->fits_unplaced);
}

TEST_F(RegistrationTest, GrantsAreLateBoundWhereAllResourcesUseCdi) {
  resources_ = {Requested("nvidia.com/a"), Requested("nvidia.com/b")};
  for (config::Resource& resource : resources_) {
    resource.rendering.strategies = {Strategy::kCdiCri};
    resource.rendering.cdi_kind = "vendor.com/gpu";
  }
  EXPECT_TRUE(RegistrationOf(node_, resources_)->late_bound);

  resources_[1].rendering.strategies = {Strategy::kEnvvar};
  EXPECT_FALSE(RegistrationOf(node_, resources_)->late_bound);
}

TEST_F(RegistrationTest, BeforeHami28ItIsInTheOldFormatWithAHandshake) {
  SettingsOf(resources_[0]).old_format = true;
  Find({Gpu("GPU-a", 0)});

  EXPECT_EQ(
      RegistrationOf(node_, resources_),
      (HamiRegistration{.devices = "GPU-a,10,81920,100,NVIDIA A100-SXM4-80GB,0,true,0,hami-core:",
                        .reports = true}));
}

constexpr Wall kNow{Duration(1'787'304'600'000)};  // 2026-08-21 09:30:00

// The patch for a node that has the mark.
std::string PatchText(const HamiRegistration& wanted, Labels annotations,
                      const std::set<std::string>& former = {}) {
  annotations.try_emplace("tessera.dev/agent", TESSERA_VERSION);
  const auto patch = RegistrationPatch(wanted, HamiVendorsOf(former), NodeWith(annotations), kNow,
                                       Duration(1'500));
  return patch ? json::Write(*patch) : "none";
}

TEST(RegistrationPatch, WritesWhatTheNodeDoesNotHave) {
  const HamiRegistration wanted{.devices = "[]", .scores = "[1]"};

  EXPECT_EQ(PatchText(wanted, {}), R"({"metadata":{"annotations":{)"
                                   R"("hami.io/node-nvidia-register":"[]",)"
                                   R"("hami.io/node-nvidia-score":"[1]"}}})");
  EXPECT_EQ(PatchText(wanted, {{"hami.io/node-nvidia-register", "forged"},
                               {"hami.io/node-nvidia-score", "[1]"}}),
            R"({"metadata":{"annotations":{"hami.io/node-nvidia-register":"[]"}}})");
}

TEST(RegistrationPatch, IsNoneWhereTheNodeHasItWhateverTheHandshakeIs) {
  EXPECT_EQ(PatchText({.devices = "[]"},
                      {{"hami.io/node-nvidia-register", "[]"},
                       {"hami.io/node-handshake", "Requesting_2026-08-21 09:30:00"},
                       {"hami.io/mutex.lock", "2026-08-21T09:30:00Z,default,gpu-pod"}}),
            "none");
}

TEST(RegistrationPatch, TakesFormerScoresAway) {
  EXPECT_EQ(PatchText({.devices = "[]"}, {{"hami.io/node-nvidia-register", "[]"},
                                          {"hami.io/node-nvidia-score", "[1]"}}),
            R"({"metadata":{"annotations":{"hami.io/node-nvidia-score":null}}})");
}

TEST(RegistrationPatch, WithAHandshakeThereIsOneEachTime) {
  const HamiRegistration wanted{.devices = "a:", .reports = true};

  EXPECT_EQ(PatchText(wanted, {{"hami.io/node-nvidia-register", "a:"},
                               {"hami.io/node-handshake", "Requesting_2026.08.21 09:30:00"}}),
            R"({"metadata":{"annotations":{"hami.io/node-handshake":)"
            R"("Reported 2026-08-21 09:30:00 +0000 UTC m=+1.500000000"}}})");
}

TEST(RegistrationPatch, AscendsHasTheModeAndAHandshakeEachTime) {
  const HamiRegistration wanted{
      .devices = "[]", .reports = true, .vendor = hami::AscendRow("Ascend910B3")->vendor};

  EXPECT_EQ(PatchText(wanted, {{"hami.io/node-handshake-Ascend910B3", "Requesting_..."}}),
            R"({"metadata":{"annotations":{"hami-vnpu-core":"false",)"
            R"("hami.io/node-handshake-Ascend910B3":"Reported_2026.08.21 09:30:00",)"
            R"("hami.io/node-register-Ascend910B3":"[]"}}})");
}

TEST(RegistrationPatch, TakesTheFormerModelAwayAndLeavesOtherPluginsAlone) {
  const HamiRegistration wanted{
      .devices = "[]", .reports = true, .vendor = hami::AscendRow("Ascend910B4-1")->vendor};

  EXPECT_EQ(PatchText(wanted,
                      {{"hami-vnpu-core", "false"},
                       {"hami.io/node-register-Ascend910B4", "[]"},
                       {"hami.io/node-handshake-Ascend910B4", "Reported_2026.08.21 09:30:00"},
                       {"hami.io/node-register-Ascend310P", "[]"}},
                      {"Ascend910B4"}),
            R"({"metadata":{"annotations":{"hami.io/node-handshake-Ascend910B4":null,)"
            R"("hami.io/node-handshake-Ascend910B4-1":"Reported_2026.08.21 09:30:00",)"
            R"("hami.io/node-register-Ascend910B4":null,)"
            R"("hami.io/node-register-Ascend910B4-1":"[]"}}})");
}

TEST(RegistrationPatch, MarksTheNodeWithTheVersionAndWhetherPodsNeedItsLock) {
  const Labels node{{"hami.io/node-nvidia-register", "[]"}, {"tessera.dev/agent", "0.0.9"}};

  EXPECT_EQ(PatchText({.devices = "[]"}, node),
            R"({"metadata":{"annotations":{"tessera.dev/agent":")" TESSERA_VERSION R"("}}})");
  EXPECT_EQ(PatchText({.devices = "[]", .late_bound = true}, node),
            R"({"metadata":{"annotations":{"tessera.dev/agent":")" TESSERA_VERSION
            R"( late-bound"}}})");
}

std::string RemovalText(const std::set<std::string>& words, const Labels& annotations) {
  const auto patch = RegistrationRemoval(HamiVendorsOf(words), NodeWith(annotations));
  return patch ? json::Write(*patch) : "none";
}

TEST(RegistrationRemoval, TakesAwayWhatAPluginWrites) {
  EXPECT_EQ(RemovalText({"NVIDIA"}, {{"hami.io/node-nvidia-register", "[]"},
                                     {"hami.io/node-amd-register", "another plugin's"},
                                     {"hami.io/node-nvidia-score", "[]"},
                                     {"hami.io/node-handshake", "Reported 2026-08-21 09:30:00"},
                                     {"tessera.dev/agent", "0.1.0 late-bound"},
                                     {"other", "stays"}}),
            R"({"metadata":{"annotations":{"hami.io/node-handshake":null,)"
            R"("hami.io/node-nvidia-register":null,"hami.io/node-nvidia-score":null,)"
            R"("tessera.dev/agent":null}}})");
}

TEST(RegistrationRemoval, TakesAwayTheVendorsThatTheAgentHasRegisteredAlone) {
  EXPECT_EQ(
      RemovalText({"Ascend310P", "AMD"},
                  {{"hami.io/node-register-Ascend310P", "[]"},
                   {"hami.io/node-register-Ascend910B3", "another plugin's"},
                   {"hami.io/node-amd-register", "[]"},
                   {"hami.io/node-handshake-Ascend310P", "Reported_2026.08.21 09:30:00"},
                   {"hami-vnpu-core", "false"}}),
      R"({"metadata":{"annotations":{"hami-vnpu-core":null,"hami.io/node-amd-register":null,)"
      R"("hami.io/node-handshake-Ascend310P":null,"hami.io/node-register-Ascend310P":null}}})");
}

TEST(RegistrationRemoval, LeavesTheSchedulersHandshake) {
  EXPECT_EQ(RemovalText({"NVIDIA"}, {{"hami.io/node-handshake", "Requesting_2026-08-21 09:30:00"}}),
            "none");
}

}  // namespace
}  // namespace tessera
