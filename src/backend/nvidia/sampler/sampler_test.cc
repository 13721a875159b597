// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/sampler/sampler.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <thread>

#include "nvml/nvidia_node.h"

namespace tessera::nvidia {
namespace {

// Two GPUs with 4 GiB.
constexpr char kNode[] = R"(driver: "570.172.08"
defaults:
  model: NVIDIA H200
  memory: 4096
  compute: "9.0"
  gauges: {temperature: 41, memory-temperature: 48, power: 71250, energy: 86400000123,
           utilization: 87, memory-utilization: 35, encoder: 4, decoder: 2,
           sm-clock: 1980, memory-clock: 2619, pcie-replays: 6}
gpus:
- {uuid: GPU-a, pci: "0000:3b:00.0"}
- {uuid: GPU-b, pci: "0000:af:00.0", minor: 7}
)";
// What else they measure.
constexpr char kCounters[] =
    "ecc: 2, ecc-corrected: 9, remap: {corrected: 3, uncorrected: 1, failed: 1}";

constexpr uint64_t kMebibyte = 1 << 20;
const DeviceSample kSample{.memory_used = 0,
                           .memory_free = 3968 * kMebibyte,
                           .memory_reserved = 128 * kMebibyte,
                           .utilization = 87,
                           .memory_utilization = 35,
                           .encoder = 4,
                           .decoder = 2,
                           .temperature = 41,
                           .memory_temperature = 48,
                           .power = 71.25,
                           .energy = 86'400'000'123,
                           .sm_clock = 1980,
                           .memory_clock = 2619,
                           .pcie_replays = 6,
                           .ecc_corrected = 9,
                           .ecc_uncorrected = 2,
                           .remapped_corrected = 3,
                           .remapped_uncorrected = 1,
                           .remap_failed = true};

// The sample of a GPU or a driver without this function.
struct Without {
  const char* function;
  void (*change)(DeviceSample& sample);
};
constexpr Without kWithout[] = {
    {"nvmlDeviceGetMemoryInfo_v2",
     [](DeviceSample& sample) {
       sample.memory_free = 4096 * kMebibyte;
       sample.memory_reserved.reset();
     }},
    {"nvmlDeviceGetMemoryInfo", [](DeviceSample&) {}},
    {"nvmlDeviceGetUtilizationRates",
     [](DeviceSample& sample) {
       sample.utilization.reset();
       sample.memory_utilization.reset();
     }},
    {"nvmlDeviceGetEncoderUtilization", [](DeviceSample& sample) { sample.encoder.reset(); }},
    {"nvmlDeviceGetDecoderUtilization", [](DeviceSample& sample) { sample.decoder.reset(); }},
    {"nvmlDeviceGetTemperature", [](DeviceSample& sample) { sample.temperature.reset(); }},
    {"nvmlDeviceGetFieldValues", [](DeviceSample& sample) { sample.memory_temperature.reset(); }},
    {"nvmlDeviceGetPowerUsage", [](DeviceSample& sample) { sample.power.reset(); }},
    {"nvmlDeviceGetTotalEnergyConsumption", [](DeviceSample& sample) { sample.energy.reset(); }},
    {"nvmlDeviceGetClockInfo",
     [](DeviceSample& sample) {
       sample.sm_clock.reset();
       sample.memory_clock.reset();
     }},
    {"nvmlDeviceGetPcieReplayCounter", [](DeviceSample& sample) { sample.pcie_replays.reset(); }},
    {"nvmlDeviceGetTotalEccErrors",
     [](DeviceSample& sample) {
       sample.ecc_corrected.reset();
       sample.ecc_uncorrected.reset();
     }},
    {"nvmlDeviceGetRemappedRows",
     [](DeviceSample& sample) {
       sample.remapped_corrected.reset();
       sample.remapped_uncorrected.reset();
       sample.remap_failed.reset();
     }},
};

const std::vector<std::string> kHeldByFirst = {"a call about GPU 0 has not returned"};

class GpuSamplerTest : public testing::Test {
 protected:
  GpuSamplerTest() {
    node_.SetHardware(kNode);
    SetFaults("");
  }
  ~GpuSamplerTest() override { EXPECT_TRUE(os::RemoveTree(directory_)); }

  // Of the first GPU, beside what it counts.
  void SetFaults(const std::string& more) {
    node_.SetFaults(fmt::format("gpus: {{0: {{{}{}}}}}", kCounters, more));
  }
  void SetGauge(const std::string& from, const std::string& to) {
    std::string yaml = kNode;
    yaml.replace(yaml.find(from), from.size(), to);
    node_.SetHardware(yaml);
  }
  GpuSampler Make() const {
    return {os::Root(directory_), "/", [] { return false; }};
  }
  static std::vector<std::string> Uuids(const Result<std::vector<SampledDevice>>& devices) {
    std::vector<std::string> uuids;
    for (const SampledDevice& device : devices.value()) uuids.push_back(device.uuid);
    return uuids;
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/sampler_test").value();
  NvidiaNode node_{directory_, "1xt4"};
  const SampledDevice first_{.uuid = "GPU-a", .index = 0};
  const SampledDevice second_{.uuid = "GPU-b", .index = 1};
};

TEST_F(GpuSamplerTest, DevicesHaveTheNamesOfNvidiasTools) {
  EXPECT_EQ(Make().Devices().value(), (std::vector<SampledDevice>{{.uuid = "GPU-a",
                                                                   .index = 0,
                                                                   .model = "NVIDIA H200",
                                                                   .address = "00000000:3B:00.0",
                                                                   .node = "nvidia0",
                                                                   .driver = "570.172.08"},
                                                                  {.uuid = "GPU-b",
                                                                   .index = 1,
                                                                   .model = "NVIDIA H200",
                                                                   .address = "00000000:AF:00.0",
                                                                   .node = "nvidia7",
                                                                   .driver = "570.172.08"}}));
}

TEST_F(GpuSamplerTest, ADividedGpuHasPartitions) {
  node_.SetMig(1,
               "[{profile: 1g.1gb, gi: 7, memory: 512, uuid: MIG-x},"
               " {profile: 1c.2g.1gb, gi: 9, ci: 1, memory: 1024, uuid: MIG-y}]");

  const std::vector<SampledDevice> devices = Make().Devices().value();

  EXPECT_EQ(devices[0].partitions, std::vector<SampledPartition>());
  EXPECT_EQ(devices[1].partitions,
            (std::vector<SampledPartition>{
                {.uuid = "MIG-x", .profile = "1g.1gb", .gpu_instance = 7, .compute_instance = 0},
                {.uuid = "MIG-y", .profile = "1c.2g.1gb", .gpu_instance = 9, .compute_instance = 1},
            }));
}

TEST_F(GpuSamplerTest, ASampleHasTheMemoryOfEachPartition) {
  node_.SetMig(1,
               "[{profile: 1g.1gb, gi: 7, memory: 512, uuid: MIG-x},"
               " {profile: 1c.2g.1gb, gi: 9, ci: 1, memory: 1024, uuid: MIG-y}]");
  GpuSampler sampler = Make();
  const std::vector<SampledDevice> devices = sampler.Devices().value();

  EXPECT_EQ(sampler.Sample(devices[0]).value().partitions, std::vector<PartitionMemory>());
  EXPECT_EQ(
      sampler.Sample(devices[1]).value().partitions,
      (std::vector<PartitionMemory>{{"MIG-x", 0, 496 * kMebibyte}, {"MIG-y", 0, 992 * kMebibyte}}));
}

TEST_F(GpuSamplerTest, PartitionsThatCannotBeReadCostNotTheDevice) {
  node_.SetMig(1, "[{profile: 1g.1gb, gi: 7, memory: 512, uuid: MIG-x}]");
  node_.SetFaults("gpus: {1: {fail: {nvmlDeviceGetAttributes_v2: 999}}}");

  const std::vector<SampledDevice> devices = Make().Devices().value();

  EXPECT_EQ(devices[1].uuid, "GPU-b");
  EXPECT_EQ(devices[1].partitions, std::vector<SampledPartition>());
}

TEST_F(GpuSamplerTest, AGpuInTheProcessorHasNeitherAddressNorNode) {
  NvidiaNode tegra(directory_, "tegra");

  EXPECT_EQ(Make().Devices().value(),
            (std::vector<SampledDevice>{{.uuid = "GPU-54c5b0e2-6f3a-5d1c-9a41-1e2f7c8d9b60",
                                         .index = 0,
                                         .model = "Orin (nvgpu)",
                                         .driver = "540.4.0"}}));
}

TEST_F(GpuSamplerTest, ASampleHasEveryReading) {
  EXPECT_EQ(Make().Sample(first_).value(), kSample);
}

TEST_F(GpuSamplerTest, EachSampleIsReadAnew) {
  GpuSampler sampler = Make();
  ASSERT_EQ(sampler.Sample(first_).value(), kSample);

  SetGauge("power: 71250", "power: 699001");

  DeviceSample expected = kSample;
  expected.power = 699.001;
  EXPECT_EQ(sampler.Sample(first_).value(), expected);
}

TEST_F(GpuSamplerTest, AReadingThatFailsIsLeftOutAlone) {
  GpuSampler sampler = Make();
  for (const auto& [function, change] : kWithout) {
    DeviceSample expected = kSample;
    change(expected);
    for (const int code : {3, 4, 999}) {
      SetFaults(fmt::format(", fail: {{{}: {}}}", function, code));
      EXPECT_EQ(sampler.Sample(first_).value(), expected) << function << ": " << code;
    }
  }
}

TEST_F(GpuSamplerTest, ADriverThatLacksAFunctionTellsTheRest) {
  for (const auto& [function, change] : kWithout) {
    node_.InstallDriver(function);
    DeviceSample expected = kSample;
    change(expected);
    EXPECT_EQ(Make().Sample(first_).value(), expected) << function;
  }
}

TEST_F(GpuSamplerTest, WhatAGpuDoesNotMeasureIsLeftOut) {
  std::string yaml = kNode;
  const size_t gauges = yaml.find("  gauges:");
  yaml.erase(gauges, yaml.find("gpus:") - gauges);
  node_.SetHardware(yaml);

  EXPECT_EQ(Make().Sample(second_).value(), (DeviceSample{.memory_used = 0,
                                                          .memory_free = 3968 * kMebibyte,
                                                          .memory_reserved = 128 * kMebibyte,
                                                          .ecc_corrected = 0,
                                                          .ecc_uncorrected = 0,
                                                          .remapped_corrected = 0,
                                                          .remapped_uncorrected = 0,
                                                          .remap_failed = false}));
}

TEST_F(GpuSamplerTest, ADividedGpuDoesNotTellHowBusyItIs) {
  node_.SetMig(0, "[{profile: 1g.1gb, gi: 7, memory: 512}]");
  DeviceSample expected = kSample;
  expected.utilization.reset();
  expected.memory_utilization.reset();
  expected.encoder.reset();
  expected.decoder.reset();

  EXPECT_EQ(Make().Sample(first_).value(), expected);
}

TEST_F(GpuSamplerTest, ALostGpuHasNoSampleAndIsNoDevice) {
  GpuSampler sampler = Make();
  SetFaults(", lost: true");

  EXPECT_EQ(sampler.Sample(first_).error(),
            (Error{Reason::kDeviceLost, "nvmlDeviceGetHandleByIndex_v2: GPU is lost (15)"}));
  EXPECT_TRUE(sampler.Sample(second_));
  EXPECT_EQ(Uuids(sampler.Devices()), std::vector<std::string>{"GPU-b"});
}

TEST_F(GpuSamplerTest, AGpuThatIsLostMeanwhileHasNoSample) {
  SetFaults(", fail: {nvmlDeviceGetPowerUsage: 15}");

  EXPECT_EQ(Make().Sample(first_).error(),
            (Error{Reason::kDeviceLost, "nvmlDeviceGetPowerUsage: GPU is lost (15)"}));
}

TEST_F(GpuSamplerTest, AnotherGpuInItsPlaceIsNotTakenForIt) {
  EXPECT_EQ(Make().Sample({.uuid = "GPU-c", .index = 1}).error(),
            (Error{Reason::kVanished, "in the place of GPU 1 is another, GPU-b"}));
}

TEST_F(GpuSamplerTest, AnUnreadableGpuIsNoDevice) {
  SetFaults(", fail: {nvmlDeviceGetUUID: 999}");

  EXPECT_EQ(Uuids(Make().Devices()), std::vector<std::string>{"GPU-b"});
}

TEST_F(GpuSamplerTest, ADriverThatIsGoneFailsAllAndIsOpenedAgain) {
  GpuSampler sampler = Make();
  ASSERT_TRUE(sampler.Devices());
  const Error gone{Reason::kScanFailed, "nvmlDeviceGetUUID: Uninitialized (1)"};
  node_.SetFaults("driver: {fail: {nvmlDeviceGetUUID: 1}}");
  EXPECT_EQ(sampler.Devices().error(), gone);
  EXPECT_EQ(sampler.Sample(first_).error(), gone);
  node_.SetFaults("driver: {fail: {nvmlDeviceGetCount_v2: 18}}");
  EXPECT_EQ(
      sampler.Devices().error(),
      (Error{Reason::kScanFailed, "nvmlDeviceGetCount_v2: Driver/library version mismatch (18)"}));

  SetFaults("");
  EXPECT_EQ(sampler.Sample(first_).value(), kSample);
}

TEST_F(GpuSamplerTest, ADriverThatComesLaterIsFound) {
  node_.RemoveDriver();
  GpuSampler sampler = Make();
  EXPECT_EQ(sampler.Devices().error().reason, Reason::kDriverMissing);
  EXPECT_EQ(sampler.Sample(first_).error().reason, Reason::kDriverMissing);

  node_.InstallDriver();
  EXPECT_EQ(sampler.Sample(first_).value(), kSample);
}

TEST_F(GpuSamplerTest, AGpuThatHangsCostsNoOther) {
  GpuSampler sampler = Make();
  SetFaults(", hang: [nvmlDeviceGetTemperature]");
  Result<DeviceSample> late = Fail(Reason::kTimedOut, "it has not come yet");
  std::thread stuck([&] { late = sampler.Sample(first_); });
  while (sampler.HeldBy() != kHeldByFirst) std::this_thread::yield();

  EXPECT_TRUE(sampler.Sample(second_));
  EXPECT_EQ(Uuids(sampler.Devices()), (std::vector<std::string>{"GPU-a", "GPU-b"}));

  SetFaults("");
  stuck.join();
  EXPECT_EQ(late.value(), kSample);
}

TEST_F(GpuSamplerTest, AGpuThatHangsIsNoDeviceUntilItAnswers) {
  GpuSampler sampler = Make();
  SetFaults(", hang: all");
  EXPECT_EQ(Uuids(sampler.Devices()), std::vector<std::string>{"GPU-b"});
  EXPECT_EQ(Uuids(sampler.Devices()), std::vector<std::string>{"GPU-b"});  // waits no second time

  SetFaults("");
  while (Uuids(sampler.Devices()).size() < 2) std::this_thread::yield();
}

TEST_F(GpuSamplerTest, ACallThatHangsIsWhatHoldsAReleasedLibrary) {
  GpuSampler sampler = Make();
  ASSERT_TRUE(sampler.Sample(second_));
  SetFaults(", hang: [nvmlDeviceGetTemperature]");
  std::thread stuck([&] { EXPECT_TRUE(sampler.Sample(first_)); });
  while (sampler.HeldBy() != kHeldByFirst) std::this_thread::yield();

  sampler.Release();
  EXPECT_EQ(sampler.Sample(second_).error().reason, Reason::kReleased);
  EXPECT_EQ(sampler.Devices().error().reason, Reason::kReleased);
  EXPECT_EQ(sampler.HeldBy(), kHeldByFirst);

  SetFaults("");
  stuck.join();
  while (!sampler.HeldBy().empty()) std::this_thread::yield();
  sampler.TakeUp();
  EXPECT_EQ(sampler.Sample(first_).value(), kSample);
}

}  // namespace
}  // namespace tessera::nvidia
