// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/nvidia.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "backend/recorder_test.h"
#include "nvml/nvidia_node.h"

namespace tessera {
namespace {

using Ids = std::vector<std::string>;

// Counts requests for scans, from any thread.
class Rescans : public BackendEvents {
 public:
  void RescanSoon() override { ++count_; }
  void Report(const DeviceKey&, Evidence) override {}
  int count() const { return count_; }

 private:
  std::atomic<int> count_ = 0;
};

class NvidiaTest : public testing::Test {
 protected:
  explicit NvidiaTest(const std::string& hardware = "8xa100") : node_(directory_, hardware) {}
  void TearDown() override { EXPECT_TRUE(os::RemoveTree(directory_)); }

  std::shared_ptr<NvidiaBackend> Backend(NvidiaConfig config = {}) {
    return std::make_shared<NvidiaBackend>("nvidia.com/gpu", std::move(config),
                                           os::Root(directory_));
  }
  Ids Uuids() const {
    Ids uuids;
    for (const nvml::HardwareGpu& gpu : node_.hardware().gpus) uuids.push_back(gpu.uuid);
    return uuids;
  }
  static Ids IdsOf(const std::vector<Device>& devices) {
    Ids ids;
    for (const Device& device : devices) ids.push_back(device.key.id);
    return ids;
  }
  static Ids ScannedIds(NvidiaBackend& backend) {
    const auto devices = backend.Scan();
    EXPECT_TRUE(devices) << devices.error().message;
    return devices ? IdsOf(*devices) : Ids();
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/nvidia_test").value();
  NvidiaNode node_;
  os::Loop loop_;
  Recorder events_{loop_};
  Rescans rescans_;
};

TEST_F(NvidiaTest, EveryGpuIsADeviceNamedByItsUuidInTheOrderOfNvml) {
  const auto backend = Backend();

  const std::vector<Device> devices = backend->Scan().value();

  EXPECT_EQ(IdsOf(devices), Uuids());
  Device expected;
  expected.key = {"nvidia.com/gpu", Uuids()[2]};
  expected.model = "NVIDIA A100-SXM4-80GB";
  expected.address = "0000:47:00.0";
  expected.visible_as = Uuids()[2];
  expected.order = 2 * 64;
  expected.numa_nodes = {1};
  expected.links = devices[2].links;  // topology_test.cc
  for (const char* path :
       {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia2"}) {
    expected.nodes.push_back({.host_path = path, .container_path = path});
  }
  EXPECT_EQ(devices[2], expected);
  for (const Device& device : devices) EXPECT_EQ(Say(backend->Check(device)), "good");
}

TEST_F(NvidiaTest, OnlyTheGpusSelectedAreDevices) {
  EXPECT_EQ(ScannedIds(*Backend({.select = {{.index = "1"}, {.uuid = Uuids()[6]}}})),
            (Ids{Uuids()[1], Uuids()[6]}));
}

TEST_F(NvidiaTest, AGpuThatIsLostIsTheDeviceItWasAndItsChecksSaySo) {
  const auto backend = Backend();
  const std::vector<Device> before = backend->Scan().value();

  node_.SetFaults("gpus: {3: {lost: true}}");

  EXPECT_EQ(backend->Scan().value(), before);
  EXPECT_EQ(Say(backend->Check(before[3])),
            "fatal device-lost nvmlDeviceGetHandleByIndex_v2: GPU is lost (15)");
  EXPECT_EQ(Say(backend->Check(before[4])), "good");

  node_.SetFaults("");
  EXPECT_EQ(Say(backend->Check(before[3])), "good");
}

TEST_F(NvidiaTest, AGpuThatWasNeverReadIsADeviceWithADefect) {
  node_.SetFaults("gpus: {3: {fail: {nvmlDeviceGetUUID: 999}}}");
  const auto backend = Backend();

  const std::vector<Device> devices = backend->Scan().value();

  Ids expected = Uuids();
  expected[3] = "unreadable-3";
  EXPECT_EQ(IdsOf(devices), expected);
  EXPECT_EQ(devices[3].defect,
            (Error{Reason::kUnreadable, "GPU 3: nvmlDeviceGetUUID: Unknown Error (999)"}));

  node_.SetFaults("");
  EXPECT_EQ(ScannedIds(*backend), Uuids());
}

TEST_F(NvidiaTest, AGpuThatHangsHoldsUpTheFirstScanForAWhileAndNoOtherGpu) {
  node_.SetFaults("gpus: {3: {hang: all}}");
  const auto backend = Backend();

  const std::vector<Device> devices = backend->Scan().value();

  EXPECT_EQ(devices[3].defect, (Error{Reason::kUnreadable, "GPU 3: it does not answer"}));
  EXPECT_EQ(Say(backend->Check(devices[4])), "good");
  EXPECT_EQ(backend->Scan().value(), devices);  // waits no second time

  node_.SetFaults("");
  while (ScannedIds(*backend) != Uuids()) std::this_thread::yield();
}

TEST_F(NvidiaTest, AFailureOfACheckMeansWhatItSays) {
  const auto backend = Backend();
  const Device device = backend->Scan().value()[0];
  const std::pair<int, std::string> cases[] = {
      {999, "bad check-failed nvmlDeviceGetMemoryInfo: Unknown Error (999)"},
      {16, "fatal device-lost nvmlDeviceGetMemoryInfo: GPU requires reset (16)"},
      {6, "fatal vanished nvmlDeviceGetMemoryInfo: Not Found (6)"},
      {3, "good"},  // it has no memory of its own
  };
  for (const auto& [code, said] : cases) {
    node_.SetFaults(fmt::format("gpus: {{0: {{fail: {{nvmlDeviceGetMemoryInfo: {}}}}}}}", code));
    EXPECT_EQ(Say(backend->Check(device)), said);
  }
}

TEST_F(NvidiaTest, AVirtualGpusMemoryIsTheConfigurationsWhereTheDriverCannotTell) {
  node_.SetFaults("gpus: {0: {fail: {nvmlDeviceGetMemoryInfo: 3}}}");
  const auto backend = Backend({.memory_if_untold = 2048, .vgpu = {.on = true}});
  const std::vector<Device> devices = backend->Scan().value();
  EXPECT_EQ(devices[0].memory, 2048);
  EXPECT_EQ(devices[1].memory, 81920);
}

TEST_F(NvidiaTest, AGpuThatCannotBeDividedSaysSoBeforeAPodComes) {
  node_.SetFaults("gpus: {0: {fail: {nvmlDeviceGetMemoryInfo: 3}}}");
  const auto backend = Backend({.vgpu = {.on = true}});

  const std::vector<Device> devices = backend->Scan().value();

  ASSERT_TRUE(devices[0].defect);
  EXPECT_EQ(devices[0].defect->reason, Reason::kUnreadable);
  EXPECT_EQ(devices[1].defect, std::nullopt);
}

TEST_F(NvidiaTest, MemoryThatWasToldHoldsThoughACallFails) {
  const auto backend = Backend({.vgpu = {.on = true}});
  const std::vector<Device> devices = backend->Scan().value();

  node_.SetFaults("gpus: {0: {fail: {nvmlDeviceGetMemoryInfo: 999}}}");

  EXPECT_EQ(backend->Scan().value(), devices);
}

TEST_F(NvidiaTest, WithoutADriverTheScanFailsUntilItIsInstalled) {
  node_.RemoveDriver();
  const auto backend = Backend();

  const auto devices = backend->Scan();

  ASSERT_FALSE(devices);
  EXPECT_EQ(devices.error().reason, Reason::kDriverMissing);
  EXPECT_TRUE(devices.error().message.starts_with("nvidia.com/gpu: cannot load NVML: "))
      << devices.error().message;

  node_.InstallDriver();
  EXPECT_EQ(ScannedIds(*backend), Uuids());
}

TEST_F(NvidiaTest, ADriverThatGoesAwayIsLookedForAgain) {
  const auto backend = Backend();
  const std::vector<Device> devices = backend->Scan().value();
  ASSERT_TRUE(backend->Start(events_));

  node_.SetFaults("driver: {fail: {all: 9}}");
  EXPECT_EQ(Say(backend->Check(devices[0])),
            "unknown driver-missing nvmlDeviceGetHandleByIndex_v2: Driver Not Loaded (9)");
  EXPECT_EQ(events_.rescans, 1);
  EXPECT_EQ(Say(backend->Check(devices[1])), "unknown driver-missing NVML is not open");
  EXPECT_EQ(backend->Scan().error().reason, Reason::kDriverMissing);

  node_.SetFaults("");
  EXPECT_EQ(backend->Scan().value(), devices);
  EXPECT_EQ(Say(backend->Check(devices[0])), "good");
  backend->Stop();
}

TEST_F(NvidiaTest, AfterStopNothingIsReported) {
  const auto backend = Backend();
  const std::vector<Device> devices = backend->Scan().value();
  ASSERT_TRUE(backend->Start(events_));
  backend->Stop();

  node_.SetFaults("driver: {fail: {all: 9}}");
  (void)backend->Check(devices[0]);

  EXPECT_EQ(events_.rescans, 0);
}

TEST_F(NvidiaTest, BackendsThatLookTogetherFindTheSame) {
  const auto first = Backend({.select = {{.index = "0"}}});
  const auto second = Backend({.select = {{.index = "1"}}});
  Ids found;
  std::thread other([&] { found = ScannedIds(*second); });

  EXPECT_EQ(ScannedIds(*first), Ids{Uuids()[0]});
  other.join();
  EXPECT_EQ(found, Ids{Uuids()[1]});
}

class NvidiaMigTest : public NvidiaTest {
 protected:
  NvidiaMigTest() : NvidiaTest("8xh100-mig") {}
  Ids MigUuids(const std::vector<std::pair<size_t, size_t>>& places) const {
    Ids uuids;
    for (const auto& [gpu, mig] : places) {
      uuids.push_back(node_.hardware().gpus[gpu].mig[mig].uuid);
    }
    return uuids;
  }
};

TEST_F(NvidiaMigTest, AResourceOfWholeGpusHasNoneThatIsInMigMode) {
  Ids whole = Uuids();
  whole.resize(6);
  EXPECT_EQ(ScannedIds(*Backend()), whole);
}

TEST_F(NvidiaMigTest, AResourceOfAProfileHasTheMigDevicesOfAllGpus) {
  EXPECT_EQ(ScannedIds(*Backend({.mig = "1g.10gb"})),
            MigUuids({{6, 0}, {6, 1}, {6, 2}, {6, 3}, {6, 4}, {6, 5}, {6, 6}, {7, 2}, {7, 3}}));
  EXPECT_EQ(ScannedIds(*Backend({.select = {{.index = "7"}}, .mig = "*g.?0gb"})),
            MigUuids({{7, 0}, {7, 1}, {7, 2}, {7, 3}}));
  EXPECT_EQ(ScannedIds(*Backend({.mig = "7g.80gb"})), Ids());
}

TEST_F(NvidiaMigTest, GpusInMigModeAreWholeOnesWhereTheConfigurationSaysSo) {
  const auto backend = Backend({.in_mig_mode = NvidiaConfig::InMigMode::kWhole});
  const std::vector<Device> devices = backend->Scan().value();
  EXPECT_EQ(IdsOf(devices), Uuids());
  EXPECT_EQ(Say(backend->Check(devices[7])), "good");
}

TEST_F(NvidiaMigTest, OneOddGpuIsOutWhereAllAreToBeDividedAlike) {
  node_.SetMig(7, "off");
  for (size_t gpu = 0; gpu < 5; ++gpu) {
    node_.SetMig(gpu, "[{profile: 1g.10gb, gi: 7, memory: 9984}]");
  }
  const auto backend = Backend(
      {.select = {{.numa = "1"}}, .in_mig_mode = NvidiaConfig::InMigMode::kDevices});  // 4 to 7

  std::vector<Device> devices = backend->Scan().value();

  ASSERT_EQ(devices.size(), 10U);  // 1 of GPU 4, 5, 7 of GPU 6, 7
  EXPECT_EQ(devices[0].parent, Uuids()[4]);
  EXPECT_EQ(devices[1].key.id, Uuids()[5]);
  EXPECT_EQ(devices[1].defect,
            (Error{Reason::kMigLayout,
                   "GPU 5 is not in MIG mode, but GPU 4 has MIG devices 1g.10gb: divide all alike, "
                   "or give each profile a resource of its own (migStrategy 'mixed')"}));
  EXPECT_EQ(devices[9].key.id, Uuids()[7]);

  for (size_t gpu : {5, 7}) node_.SetMig(gpu, "[{profile: 1g.10gb, gi: 7, memory: 9984}]");
  devices = backend->Scan().value();
  EXPECT_EQ(devices.size(), 10U);
  for (const Device& device : devices) EXPECT_EQ(device.defect, std::nullopt);
}

TEST_F(NvidiaMigTest, AFamilysDevicesSayWhoseTheyAre) {
  const std::string family = "nvidia.com/mig-{profile}";
  const NvidiaConfig config{.mig = "*", .earlier = {{.mig = "1g.10gb"}}, .family = family};
  std::set<std::string> resources;
  const auto all = std::make_shared<NvidiaBackend>(family, config, os::Root(directory_));
  const std::vector<Device> devices = all->Scan().value();
  for (const Device& device : devices) resources.insert(device.key.source);
  EXPECT_EQ(resources, (std::set<std::string>{"nvidia.com/mig-2g.20gb", "nvidia.com/mig-3g.40gb"}));

  const auto one =
      std::make_shared<NvidiaBackend>("nvidia.com/mig-2g.20gb", config, os::Root(directory_));
  EXPECT_EQ(ScannedIds(*one), MigUuids({{7, 1}}));
}

// A newer driver's profile: its number is none of the known ones.
TEST_F(NvidiaMigTest, AProfileThatIsNotKnownTakesOutItsGpuAndNoOther) {
  std::string yaml = os::ReadFile(directory_ + "/usr/lib64/fake-nvml.yaml").value();
  yaml.replace(yaml.find("- {profile: 1, id: 14"), 21, "- {profile: 18, id: 14");
  node_.SetHardware(yaml);
  const Error out{Reason::kMigLayout,
                  fmt::format("GPU 7 has the MIG device {}, of a profile of the size of 2g.20gb "
                              "that is not known here: make it of another profile",
                              MigUuids({{7, 1}})[0])};

  // For a resource of MIG devices, all devices of this GPU are out, and those of other GPUs are
  // not.
  const auto small = Backend({.mig = "1g.10gb"});
  std::vector<Device> devices = small->Scan().value();
  EXPECT_EQ(IdsOf(devices),
            MigUuids({{6, 0}, {6, 1}, {6, 2}, {6, 3}, {6, 4}, {6, 5}, {6, 6}, {7, 2}, {7, 3}}));
  for (size_t i = 0; i < 7; ++i) EXPECT_EQ(Say(small->Check(devices[i])), "good");
  for (size_t i : {7, 8}) EXPECT_EQ(devices[i].defect, out);
  // The device with the unknown profile is listed by its size.
  devices = Backend({.mig = "2g.20gb"})->Scan().value();
  EXPECT_EQ(IdsOf(devices), MigUuids({{7, 1}}));
  EXPECT_EQ(devices[0].defect, out);

  devices = Backend({.in_mig_mode = NvidiaConfig::InMigMode::kDevices,
                     .earlier = {{.select = {{.numa = "0"}}},
                                 {.select = {{.index = "4"}}},
                                 {.select = {{.index = "5"}}}}})
                ->Scan()
                .value();
  ASSERT_EQ(devices.size(), 8U);
  EXPECT_EQ(devices[6].defect, std::nullopt);
  EXPECT_EQ(devices[7].key.id, Uuids()[7]);
  EXPECT_EQ(devices[7].defect, out);

  // If GPUs in MIG mode are left out or served whole, their profiles do not matter.
  Ids undivided = Uuids();
  undivided.resize(6);
  EXPECT_EQ(ScannedIds(*Backend()), undivided);
  const auto whole = Backend({.in_mig_mode = NvidiaConfig::InMigMode::kWhole});
  EXPECT_EQ(Say(whole->Check(whole->Scan().value().at(7))), "good");

  node_.SetMig(7, "[{profile: 1g.10gb, gi: 9, memory: 9984}]");
  devices = small->Scan().value();
  ASSERT_EQ(devices.size(), 8U);
  EXPECT_EQ(Say(small->Check(devices[7])), "good");
}

TEST_F(NvidiaMigTest, WhatOneBackendSeesTheOthersHearOf) {
  const auto first = Backend();
  const auto second = Backend();
  ASSERT_TRUE(second->Start(rescans_));
  EXPECT_EQ(ScannedIds(*first).size(), 6U);

  node_.SetMig(7, "off");
  EXPECT_EQ(ScannedIds(*first).size(), 7U);
  EXPECT_EQ(rescans_.count(), 1);
  second->Stop();
}

TEST_F(NvidiaMigTest, AMigDeviceIsCheckedByItself) {
  const auto backend = Backend({.mig = "3g.40gb"});
  const Device device = backend->Scan().value().at(0);
  EXPECT_EQ(device.defect, std::nullopt);
  EXPECT_EQ(Say(backend->Check(device)), "good");

  node_.SetFaults("gpus: {7: {fail: {nvmlDeviceGetMigDeviceHandleByIndex: 6}}}");
  EXPECT_EQ(Say(backend->Check(device)), "fatal vanished its MIG instance was destroyed");
  EXPECT_EQ(ScannedIds(*backend), Ids());

  node_.SetFaults("gpus: {7: {lost: true}}");
  EXPECT_EQ(Say(backend->Check(device)), "fatal vanished NVML does not list it");
}

}  // namespace
}  // namespace tessera
