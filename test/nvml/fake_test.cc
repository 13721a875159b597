// SPDX-License-Identifier: Apache-2.0
// Answers of the fake NVML that no test of src/backend/nvidia covers, function by function.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <functional>

#include "cuda/state.h"
#include "nvml/faults.h"
#include "nvml/nvidia_node.h"
#include "os/files.h"

namespace tessera::nvml {
namespace {

class FakeNvmlTest : public testing::TestWithParam<const char*> {
 protected:
  void TearDown() override {
    if (library_ != nullptr) {
      EXPECT_EQ(api_.Shutdown.call(), Return::kSuccess);
      dlclose(library_);
    }
    EXPECT_TRUE(os::RemoveTree(directory_));
  }
  void Open(const std::string& hardware) {
    node_ = std::make_unique<NvidiaNode>(directory_, hardware);
    const std::string path = directory_ + "/usr/lib64/libnvidia-ml.so.1";
    library_ = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr);
#define NVML_FUNCTION(name, ...) Look(api_.name);
#include "backend/nvidia/nvml/functions.def"
#undef NVML_FUNCTION
    ASSERT_EQ(api_.Init.call(), Return::kSuccess);
  }
  DeviceHandle Gpu(unsigned index) {
    DeviceHandle device = nullptr;
    EXPECT_EQ(api_.DeviceGetHandleByIndex.call(index, &device), Return::kSuccess);
    return device;
  }
  TopologyLevel Between(unsigned a, unsigned b) {
    TopologyLevel level{};
    EXPECT_EQ(api_.DeviceGetTopologyCommonAncestor.call(Gpu(a), Gpu(b), &level), Return::kSuccess);
    return level;
  }
  // The number of a GPU's links that are up, by their remote PCI address.
  std::map<std::string, int> LinksOf(unsigned gpu) {
    std::map<std::string, int> links;
    for (unsigned link = 0; link < kMostNvLinks; ++link) {
      EnableState state{};
      PciInfo remote{};
      if (api_.DeviceGetNvLinkState.call(Gpu(gpu), link, &state) != Return::kSuccess) continue;
      if (state == EnableState::kDisabled) continue;
      api_.DeviceGetNvLinkRemotePciInfo.call(Gpu(gpu), link, &remote);
      ++links[remote.bus_id];
    }
    return links;
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/fake_test").value();
  std::unique_ptr<NvidiaNode> node_;
  Api api_;

 private:
  template <class Signature>
  void Look(Function<Signature>& function) {
    void* symbol = dlsym(library_, function.name);
    ASSERT_NE(symbol, nullptr) << function.name;
    function.call = reinterpret_cast<typename Function<Signature>::Pointer>(symbol);
  }

  void* library_ = nullptr;
};

TEST_P(FakeNvmlTest, ServesEveryNodeThatIsDescribed) {
  Open(GetParam());

  unsigned count = 0;
  EXPECT_EQ(api_.DeviceGetCount.call(&count), Return::kSuccess);
  EXPECT_EQ(count, node_->hardware().gpus.size());
  EXPECT_EQ(std::to_string(count) + "x", std::string(GetParam()).substr(0, count > 9 ? 3 : 2));
}

INSTANTIATE_TEST_SUITE_P(Nodes, FakeNvmlTest,
                         testing::Values("1xt4", "8xa100", "8xv100", "16xv100", "8xh100-mig"));

TEST_F(FakeNvmlTest, GpusAreAsNearAsTheirPlacesAre) {
  Open("8xv100");
  EXPECT_EQ(Between(0, 1), TopologyLevel::kSingle);
  EXPECT_EQ(Between(0, 2), TopologyLevel::kHostBridge);
  EXPECT_EQ(Between(0, 4), TopologyLevel::kSystem);
}

TEST_F(FakeNvmlTest, GpusOfAMeshHaveLinksToEachOther) {
  Open("8xv100");
  EXPECT_EQ(LinksOf(0), (std::map<std::string, int>{{"00000000:07:00.0", 1},
                                                    {"00000000:0A:00.0", 1},
                                                    {"00000000:0B:00.0", 2},
                                                    {"00000000:85:00.0", 2}}));
}

TEST_F(FakeNvmlTest, GpusBehindSwitchesHaveLinksToThemUntilTheyAreDown) {
  Open("8xa100");
  std::map<std::string, int> links;
  for (const char* bus : {"C4", "C5", "C6", "C7", "C8", "C9"}) {
    links[fmt::format("00000000:{}:00.0", bus)] = 2;
  }
  EXPECT_EQ(LinksOf(3), links);
  NvLinkRemoteType type{};
  EXPECT_EQ(api_.DeviceGetNvLinkRemoteDeviceType.call(Gpu(3), 0, &type), Return::kSuccess);
  EXPECT_EQ(type, NvLinkRemoteType::kSwitch);

  node_->SetFaults("gpus: {3: {links-down: [0]}}");
  links["00000000:C4:00.0"] = 1;
  EXPECT_EQ(LinksOf(3), links);
}

TEST_F(FakeNvmlTest, AnEventReachesASetThatItsGpuIsIn) {
  Open("8xh100-mig");
  EventSetHandle set = nullptr;
  ASSERT_EQ(api_.EventSetCreate.call(&set), Return::kSuccess);
  ASSERT_EQ(api_.DeviceRegisterEvents.call(Gpu(6), kXidCriticalError, set), Return::kSuccess);
  EventData event{};
  EXPECT_EQ(api_.EventSetWait.call(set, &event, 0), Return::kTimeout);

  node_->SetFaults(
      "events: [{gpu: 1, xid: 79}, {gpu: 6, type: 2}, {gpu: 6, xid: 43, gi: 7, ci: 0}]");

  EXPECT_EQ(api_.EventSetWait.call(set, &event, 10'000), Return::kSuccess);
  EXPECT_EQ(event.device, Gpu(6));
  EXPECT_EQ(event.type, kXidCriticalError);
  EXPECT_EQ(event.data, 43U);
  EXPECT_EQ(event.gpu_instance, 7U);
  EXPECT_EQ(event.compute_instance, 0U);
  EXPECT_EQ(api_.EventSetWait.call(set, &event, 0), Return::kTimeout);
  EXPECT_EQ(api_.EventSetFree.call(set), Return::kSuccess);
}

TEST_F(FakeNvmlTest, OfAGpuInTheProcessorItKnowsNoPlaceAndNoMinorNumber) {
  Open("tegra");
  PciInfo pci{};
  unsigned minor = 0;
  EXPECT_EQ(api_.DeviceGetPciInfo.call(Gpu(0), &pci), Return::kNotSupported);
  EXPECT_EQ(api_.DeviceGetMinorNumber.call(Gpu(0), &minor), Return::kNotSupported);
}

std::string Refusal(const std::function<void()>& parse) {
  try {
    parse();
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST(FakeNvmlFiles, AKeyOfANodeThatDoesNotExistIsNamedWithItsLine) {
  const std::string driver = "driver: \"1\"\n";
  const std::pair<std::string, std::string> rows[] = {
      {"plattform: wsl", "line 2: a node has no key \"plattform\""},
      {"platform: jetson", "line 2: there is no platform \"jetson\", only tegra and wsl"},
      {"defaults: {modell: x}", "line 2: \"defaults\" has no key \"modell\""},
      {"gpus:\n- {numma: 1}", "line 3: a GPU has no key \"numma\""},
      {"defaults: {model: x, memory: 1, compute: \"1.0\"}\ngpus:\n- pci: \"0000:01:00.0\"\n"
       "  mig: [{profil: 1g.5gb}]",
       "line 5: a MIG device has no key \"profil\""},
      {"gpus:\n- {model: x, memory: 1, compute: \"1.0\", pci: \"0000:01:00.0\", gauges: {heat: 1}}",
       "line 3: \"gauges\" has no key \"heat\""},
      {"switches: {link: 1}", "line 2: \"switches\" has no key \"link\""},
      {"profiles: [{name: 1}]", "line 2: a profile has no key \"name\""},
  };
  for (const auto& [yaml, message] : rows) {
    EXPECT_EQ(Refusal([&] { ParseHardware(driver + yaml); }), message);
  }
}

TEST(FakeNvmlFiles, AFaultThatDoesNotExistIsNamedWithItsLine) {
  const std::pair<std::string, std::string> rows[] = {
      {"gpu: {0: {lost: true}}", "line 1: a node with faults has no key \"gpu\""},
      {"\ndriver: {slo: 1}", "line 2: a driver with faults has no key \"slo\""},
      {"gpus:\n  3: {los: true}", "line 2: a GPU with faults has no key \"los\""},
      {"gpus: {3: {remap: {fail: 1}}}", "line 1: \"remap\" has no key \"fail\""},
      {"gpus: {3: {fail: {nvmlInit: 9}}}",
       "line 1: nvmlInit is no function of NVML that the agent calls"},
      {"gpus: {3: {hang: [nvmlWait]}}",
       "line 1: nvmlWait is no function of NVML that the agent calls"},
      {"events:\n- {gpu: 1, xids: 79}", "line 2: an event has no key \"xids\""},
  };
  for (const auto& [yaml, message] : rows) {
    EXPECT_EQ(Refusal([&] { ParseFaults(yaml); }), message);
  }
}

TEST_F(FakeNvmlTest, WhatIsWrongWithAGpuIsReadFromItsCounters) {
  Open("8xa100");
  node_->SetFaults("gpus: {2: {ecc: 4, remap: {pending: 1}, retired: true, clocks: 0x40}}");

  uint64_t errors = 0;
  EXPECT_EQ(api_.DeviceGetTotalEccErrors.call(Gpu(2), MemoryErrorType::kUncorrected,
                                              EccCounterType::kVolatile, &errors),
            Return::kSuccess);
  EXPECT_EQ(errors, 4U);
  unsigned rows[4] = {};
  EXPECT_EQ(api_.DeviceGetRemappedRows.call(Gpu(2), &rows[0], &rows[1], &rows[2], &rows[3]),
            Return::kSuccess);
  EXPECT_EQ(rows[2], 1U);
  EXPECT_EQ(rows[3], 0U);
  EnableState retired{};
  EXPECT_EQ(api_.DeviceGetRetiredPagesPendingStatus.call(Gpu(2), &retired), Return::kSuccess);
  EXPECT_EQ(retired, EnableState::kEnabled);
  uint64_t reasons = 0;
  EXPECT_EQ(api_.DeviceGetClocksEventReasons.call(Gpu(2), &reasons), Return::kSuccess);
  EXPECT_EQ(reasons, kHardwareThermalSlowdown);
}

TEST_F(FakeNvmlTest, WhatProcessesOfTheFakeCudaHaveIsInUse) {
  Open("1xt4");
  setenv("TESSERA_FAKE_CUDA", directory_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
  const auto state = fake_cuda::State::Open(directory_, 0);
  ASSERT_TRUE(state != nullptr && state->Join());
  const HardwareGpu& gpu = node_->hardware().gpus[0];
  ASSERT_TRUE(state->Take(state->CardOf(gpu.uuid, gpu.memory_mib << 20), 3 << 20));
  Memory memory{};
  EXPECT_EQ(api_.DeviceGetMemoryInfo.call(Gpu(0), &memory), Return::kSuccess);
  unsetenv("TESSERA_FAKE_CUDA");  // NOLINT(concurrency-mt-unsafe): one thread
  EXPECT_EQ(memory.used, 3U << 20);
  EXPECT_EQ(memory.free, memory.total - memory.used);
}

}  // namespace
}  // namespace tessera::nvml
