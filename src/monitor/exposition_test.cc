// SPDX-License-Identifier: Apache-2.0
#include "monitor/exposition.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "region/region_test.h"

namespace tessera::monitor {
namespace {

using region::kGpu;
using region::kMib;
using region::kOther;

constexpr Steady kNow{Duration(100'000)};
constexpr Wall kWallNow{Duration(1'000'000)};

// A container that has used its share.
Container Trainer() {
  return {.pod_name = "team/train-0",
          .pod = "uid-1",
          .container = "main",
          .grant = "0123",
          .resource = "nvidia.com/gpu",
          .division = "vgpu",
          .parts = {{kGpu, 4096, 30}},
          .file = "/usr/local/vgpu/containers/0123/0123.cache",
          .region = {.policy = "force",
                     .launched_at = 990,
                     .refused = 3,
                     .waited_ns = 1'500'000'000,
                     .devices = {{.uuid = kGpu,
                                  .limit = 4096 * kMib,
                                  .percent = 30,
                                  .used = 600 * kMib,
                                  .busy_ns = 2'500'000'000}},
                     .processes = {{.pid = 17,
                                    .held = {{0, 100 * kMib, 8 * kMib, 492 * kMib, 600 * kMib}}}}},
          .got = {29.5},
          .alive = {true}};
}

class ExpositionTest : public testing::Test {
 protected:
  std::string Page(bool legacy) {
    snapshot_.containers = containers_;
    return Expose(snapshot_, kNow, kWallNow, legacy);
  }
  // The series of one family, without its name.
  std::vector<std::string> Series(const std::string& family, bool legacy = false) {
    const std::string page = Page(legacy);
    std::vector<std::string> series;
    for (const std::string& line : Split(page, '\n')) {
      if (line.starts_with(family + "{")) series.push_back(line.substr(family.size()));
      if (line.starts_with(family + " ")) series.push_back(line.substr(family.size() + 1));
    }
    return series;
  }
  static std::vector<std::string> One(const std::string& labels, const std::string& value) {
    return {fmt::format("{{{}}} {}", labels, value)};
  }
  using Lines = std::vector<std::string>;

  const std::string own_ =
      R"(namespace="team",pod="train-0",uid="uid-1",container="main",resource="nvidia.com/gpu")";
  const std::string own_device_ = own_ + R"(,device=")" + kGpu + "\"";
  const std::string hami_ = fmt::format(
      R"(namespace="team",pod="train-0",container="main",vdevice_index="0",device_uuid="{}",)"
      R"(node="worker-1",zone="vGPU")",
      kGpu);
  std::vector<Container> containers_{Trainer()};
  Snapshot snapshot_{.node = "worker-1"};
};

TEST_F(ExpositionTest, WhatAContainerHasAndUsesIsInBaseUnits) {
  EXPECT_EQ(Series("tessera_container_memory_granted_bytes"), One(own_device_, "4294967296"));
  EXPECT_EQ(Series("tessera_container_memory_used_bytes"), One(own_device_, "629145600"));
  EXPECT_EQ(Series("tessera_container_compute_granted_ratio"), One(own_device_, "0.3"));
  EXPECT_EQ(Series("tessera_container_compute_used_ratio"), One(own_device_, "0.295"));
  EXPECT_EQ(Series("tessera_container_compute_seconds_total"), One(own_device_, "2.5"));
  EXPECT_EQ(Series("tessera_container_over_limit"), One(own_device_, "0"));
  EXPECT_EQ(Series("tessera_container_waited_seconds_total"), One(own_, "1.5"));
  EXPECT_EQ(Series("tessera_container_refused_allocations_total"), One(own_, "3"));
  EXPECT_EQ(Series("tessera_container_blocked"), One(own_, "0"));
  EXPECT_EQ(Series("tessera_container_compute_unlimited"), One(own_, "0"));
}

TEST_F(ExpositionTest, HamisNamesHaveHamisLabelsAndUnits) {
  EXPECT_EQ(Series("hami_vgpu_memory_used_bytes"), One(hami_, "629145600"));
  EXPECT_EQ(Series("hami_container_device_memory_bytes"), One(hami_, "629145600"));
  EXPECT_EQ(Series("hami_vgpu_memory_limit_bytes"), One(hami_, "4294967296"));
  EXPECT_EQ(Series("hami_vgpu_memory_context_bytes"), One(hami_, "104857600"));
  EXPECT_EQ(Series("hami_vgpu_memory_module_bytes"), One(hami_, "8388608"));
  EXPECT_EQ(Series("hami_vgpu_memory_buffer_bytes"), One(hami_, "515899392"));
  EXPECT_EQ(Series("hami_container_device_utilization_ratio"), One(hami_, "29.5"));
  EXPECT_EQ(Series("hami_container_last_kernel_elapsed_seconds"), One(hami_, "10"));
}

TEST_F(ExpositionTest, HamisOlderNamesAreThereIfTheyAreWanted) {
  const std::string old = fmt::format(
      R"(podnamespace="team",podname="train-0",ctrname="main",vdeviceid="0",deviceuuid="{}")",
      kGpu);
  EXPECT_EQ(Series("vGPU_device_memory_usage_in_bytes"), Lines());
  EXPECT_EQ(Series("vGPU_device_memory_usage_in_bytes", true),
            One(old + R"(,zone="vGPU")", "629145600"));
  EXPECT_EQ(Series("Device_memory_desc_of_container", true),
            One(old + R"(,context="104857600",module="8388608",data="515899392",offset="0",)"
                      R"(zone="vGPU")",
                "629145600"));
}

TEST_F(ExpositionTest, AGrantHasItsSeriesBeforeAnyProgramUsesTheDevice) {
  Container& container = containers_.front();
  container.problem = Error{Reason::kNotFound, "there is no region yet"};
  container.region = {};
  container.got = {};
  EXPECT_EQ(Series("tessera_container_memory_granted_bytes"), One(own_device_, "4294967296"));
  EXPECT_EQ(Series("tessera_container_memory_used_bytes"), One(own_device_, "0"));
  EXPECT_EQ(Series("hami_vgpu_memory_used_bytes"), One(hami_, "0"));
  EXPECT_EQ(Series("hami_container_device_utilization_ratio"), One(hami_, "0"));
  EXPECT_EQ(Series("hami_container_last_kernel_elapsed_seconds"), Lines());
}

TEST_F(ExpositionTest, OfARegionThatCannotBeReadOnlyTheGrantIsKnown) {
  Container& container = containers_.front();
  container.problem = Error{Reason::kBadRegion, "it is truncated"};
  container.region = {};
  container.got = {};
  EXPECT_EQ(Series("tessera_container_memory_granted_bytes"), One(own_device_, "4294967296"));
  EXPECT_EQ(Series("hami_vgpu_memory_limit_bytes"), One(hami_, "4294967296"));
  EXPECT_EQ(Series("tessera_container_memory_used_bytes"), Lines());
  EXPECT_EQ(Series("hami_vgpu_memory_used_bytes"), Lines());
  EXPECT_EQ(Series("tessera_monitor_unreadable_regions"), One(R"(reason="bad-region")", "1"));
}

TEST_F(ExpositionTest, HamiCoresContainerIsKnownByItsRegionAlone) {
  Container& container = containers_.front();
  container.grant = "";
  container.resource = "";
  container.parts = {};
  container.region.maker = region::Maker::kHamiCore;
  container.region.devices.front().busy_ns = {};
  EXPECT_EQ(Series("hami_vgpu_memory_limit_bytes"), One(hami_, "4294967296"));
  EXPECT_EQ(Series("tessera_container_compute_seconds_total"), Lines());
  EXPECT_EQ(Series("tessera_container_waited_seconds_total"), Lines());
}

TEST_F(ExpositionTest, DevicesGoByTheGrantsOrderAndNotByTheRegions) {
  Container& container = containers_.front();
  container.parts.insert(container.parts.begin(), {kOther, 1024, 0});
  container.region.devices.push_back({.uuid = kOther, .used = 5 * kMib});
  container.got.emplace_back(0);
  const auto series = Series("hami_vgpu_memory_used_bytes");
  ASSERT_EQ(series.size(), 2U);
  EXPECT_NE(series[0].find(fmt::format(R"(vdevice_index="0",device_uuid="{}")", kOther)),
            std::string::npos);
  EXPECT_TRUE(series[0].ends_with("} 5242880")) << series[0];
  EXPECT_TRUE(series[1].ends_with("} 629145600")) << series[1];
}

TEST_F(ExpositionTest, TheNewerOfTwoPodsWithOneNameHasTheSeries) {
  Container newer = Trainer();
  newer.pod = "uid-2";
  newer.fresh = true;
  newer.region.devices.front().used = kMib;
  containers_.push_back(newer);
  EXPECT_EQ(Series("hami_vgpu_memory_used_bytes"), One(hami_, "1048576"));
}

TEST_F(ExpositionTest, EveryContainerIsOnItsDeviceHoweverItHasIt) {
  for (const char* division : {"replicas", "mps", "whole", "vgpu"}) {
    containers_ = {{.pod_name = "team/train-0",
                    .pod = "uid-1",
                    .container = "main",
                    .resource = "nvidia.com/gpu",
                    .division = division,
                    .parts = {{kGpu, 0, 0}}}};
    EXPECT_EQ(Series("tessera_container_device_info"),
              One(fmt::format(R"({},division="{}")", own_device_, division), "1"));
  }
  containers_.front().division = "";  // as of HAMi's plugin
  containers_.front().file = "/usr/local/vgpu/containers/uid-1_main";
  EXPECT_EQ(Series("tessera_container_device_info"), One(own_device_ + R"(,division="vgpu")", "1"));
}

TEST_F(ExpositionTest, WhoSharesADeviceByTimeHasNoLimitAndNoKnownUse) {
  snapshot_.devices = {
      {.device = {.uuid = kGpu},
       .sample = DeviceSample{.memory_used = 3 * kMib, .memory_free = kMib, .utilization = 40}}};
  containers_ = {{.pod_name = "team/train-0",
                  .pod = "uid-1",
                  .container = "main",
                  .resource = "nvidia.com/gpu",
                  .division = "replicas",
                  .parts = {{kGpu, 0, 0}}}};
  const std::string page = Page(true);
  for (const std::string& line : Split(page, '\n')) {
    if (line.find(R"(pod="train-0")") == std::string::npos) continue;
    EXPECT_TRUE(line.starts_with("tessera_container_device_info{")) << line;
  }
}

TEST_F(ExpositionTest, WhoHasAPartitionHasItsMemory) {
  snapshot_.devices = {
      {.device = {.uuid = kGpu, .partitions = {{"MIG-1", "1g.10gb", 7, 0}}},
       .sample = DeviceSample{.memory_used = 9 * kMib,
                              .utilization = 40,
                              .partitions = {{"MIG-0", 1, 1}, {"MIG-1", 3 * kMib, 5 * kMib}}}}};
  containers_ = {{.pod_name = "team/train-0",
                  .pod = "uid-1",
                  .container = "main",
                  .resource = "nvidia.com/gpu",
                  .division = "whole",
                  .parts = {{"MIG-1", 0, 0}}}};
  const std::string labels = own_ + R"(,device="MIG-1")";
  EXPECT_EQ(Series("tessera_container_memory_granted_bytes"), One(labels, "8388608"));
  EXPECT_EQ(Series("tessera_container_memory_used_bytes"), One(labels, "3145728"));
  EXPECT_EQ(Series("tessera_container_compute_granted_ratio"), One(labels, "1"));
  EXPECT_EQ(Series("tessera_container_compute_used_ratio"), Lines());

  snapshot_.devices.front().sample->partitions.clear();
  EXPECT_EQ(Series("tessera_container_memory_granted_bytes"), Lines());
  EXPECT_EQ(Series("tessera_container_memory_used_bytes"), Lines());
}

TEST_F(ExpositionTest, APartitionIsNamedWithItsProfile) {
  snapshot_.devices = {{.device = {.uuid = kGpu, .partitions = {{"MIG-1", "1g.10gb", 7, 0}}}}};
  containers_ = {{.pod_name = "team/train-0",
                  .pod = "uid-1",
                  .container = "main",
                  .division = "whole",
                  .parts = {{"MIG-1", 0, 0}}}};
  EXPECT_EQ(Series("hami_mig_device_info"),
            One(fmt::format(R"(namespace="team",pod="train-0",container="main",vdevice_index="0",)"
                            R"(device_uuid="{}",node="worker-1",mig_uuid="MIG-1",)"
                            R"(profile="1g.10gb",gpu_instance_id="7",compute_instance_id="0",)"
                            R"(zone="vGPU")",
                            kGpu),
                "1"));
  EXPECT_EQ(Series("MigInfo", true).size(), 1U);
}

TEST_F(ExpositionTest, WhoHasAWholeDeviceUsesWhatTheDeviceSays) {
  snapshot_.devices = {{.device = {.uuid = kGpu, .model = "NVIDIA H200"},
                        .sample = DeviceSample{
                            .memory_used = 3 * kMib, .memory_free = 5 * kMib, .utilization = 40}}};
  containers_ = {{.pod_name = "team/train-0",
                  .pod = "uid-1",
                  .container = "main",
                  .resource = "nvidia.com/gpu",
                  .division = "whole",
                  .parts = {{kGpu, 0, 0}}}};
  EXPECT_EQ(Series("tessera_container_memory_granted_bytes"), One(own_device_, "8388608"));
  EXPECT_EQ(Series("tessera_container_memory_used_bytes"), One(own_device_, "3145728"));
  EXPECT_EQ(Series("tessera_container_compute_granted_ratio"), One(own_device_, "1"));
  EXPECT_EQ(Series("tessera_container_compute_used_ratio"), One(own_device_, "0.4"));
  EXPECT_EQ(Series("hami_vgpu_memory_used_bytes"), Lines());
  EXPECT_EQ(Series("tessera_container_blocked"), Lines());
}

TEST_F(ExpositionTest, ADeviceKeepsItsLastValuesWithTheirAge) {
  snapshot_.devices = {
      {.device = {.uuid = kGpu, .index = 2, .model = "NVIDIA H200"},
       .sample = DeviceSample{.memory_used = kMib, .ecc_corrected = 4, .ecc_uncorrected = 1},
       .sampled_at = kNow - Duration(30'000)},
      {.device = {.uuid = kOther, .index = 3, .model = "NVIDIA H200"}}};
  const std::string labels = fmt::format(
      R"(node="worker-1",device_index="2",device_uuid="{}",device_type="NVIDIA-NVIDIA H200")",
      kGpu);
  EXPECT_EQ(Series("tessera_device_sample_age_seconds"),
            One(fmt::format(R"(device="{}")", kGpu), "30"));
  EXPECT_EQ(Series("hami_host_gpu_memory_used_bytes"), One(labels + R"(,zone="vGPU")", "1048576"));
  EXPECT_EQ(Series("hami_host_gpu_utilization_ratio"), Lines());
  EXPECT_EQ(Series("hami_host_gpu_ecc_errors_total").size(), 2U);
}

TEST_F(ExpositionTest, LabelsAreEscapedAndNoSeriesIsThereTwice) {
  containers_.push_back(containers_.front());
  containers_.back().container = "a\"b\\c\n";
  const std::string page = Page(true);
  EXPECT_NE(page.find(R"(container="a\"b\\c\n")"), std::string::npos);
  std::set<std::string> names;
  for (const std::string& line : Split(page, '\n')) {
    if (line.empty()) continue;
    const std::string name = line.starts_with('#') ? line : line.substr(0, line.rfind(' '));
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

}  // namespace
}  // namespace tessera::monitor
