// SPDX-License-Identifier: Apache-2.0
#include "monitor/dcgm.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "region/region_test.h"

namespace tessera::monitor {
namespace {

using region::kGpu;
using region::kMib;

const Snapshot kIdle{.node = "worker-1",
                     .devices = {{.device = {.uuid = kGpu,
                                             .index = 1,
                                             .model = "NVIDIA H200",
                                             .address = "00000000:3B:00.0",
                                             .node = "nvidia1",
                                             .driver = "570.172.08"},
                                  .sample = DeviceSample{
                                      .memory_used = 3 * kMib, .utilization = 40, .power = 71.5}}}};
const std::string kLabels =
    std::string(R"(gpu="1",UUID=")") + kGpu +
    R"(",pci_bus_id="00000000:3B:00.0",device="nvidia1",modelName="NVIDIA H200",)"
    R"(hostname="worker-1",DCGM_FI_DRIVER_VERSION="570.172.08")";
const std::string kPod = R"(,container="main",namespace="team",pod="train-0",pod_uid="uid-1")";

std::string Series(const std::string& name, const std::string& type, const std::string& help,
                   const std::string& lines) {
  return "# HELP DCGM_FI_DEV_" + name + " " + help + "\n# TYPE DCGM_FI_DEV_" + name + " " + type +
         "\n" + lines;
}
std::string Line(const std::string& name, const std::string& labels, const std::string& value) {
  return "DCGM_FI_DEV_" + name + "{" + labels + "} " + value + "\n";
}
std::string Page(const std::string& utilization, const std::string& memory,
                 const std::string& power) {
  return Series("GPU_UTIL", "gauge", "Percent of time with a kernel.", utilization) +
         Series("FB_USED", "gauge", "Used memory in MiB.", memory) +
         Series("POWER_USAGE", "gauge", "Power in watts.", power);
}

TEST(DcgmTest, AnIdleDeviceHasNoPodLabels) {
  EXPECT_EQ(ExposeDcgm(kIdle), Page(Line("GPU_UTIL", kLabels, "40"), Line("FB_USED", kLabels, "3"),
                                    Line("POWER_USAGE", kLabels, "71.5")));
}

TEST(DcgmTest, TheHolderOfAWholeDeviceIsOnItsSeries) {
  Snapshot snapshot = kIdle;
  const std::vector<Container> containers = {{.pod_name = "team/train-0",
                                              .pod = "uid-1",
                                              .container = "main",
                                              .division = "whole",
                                              .parts = {{kGpu, 0, 0}}}};
  snapshot.containers = containers;
  EXPECT_EQ(ExposeDcgm(snapshot),
            Page(Line("GPU_UTIL", kLabels + kPod, "40"), Line("FB_USED", kLabels + kPod, "3"),
                 Line("POWER_USAGE", kLabels + kPod, "71.5")));
}

TEST(DcgmTest, ContainersThatShareADeviceHaveTheirOwnUse) {
  Snapshot snapshot = kIdle;
  const std::vector<Container> containers = {
      {.pod_name = "team/train-0",
       .pod = "uid-1",
       .container = "main",
       .division = "vgpu",
       .file = "/x",
       .region = {.devices = {{.uuid = kGpu, .used = 2 * kMib}}},
       .got = {30.0}}};
  snapshot.containers = containers;
  EXPECT_EQ(ExposeDcgm(snapshot), Page(Line("GPU_UTIL", kLabels, "40") +
                                           Line("GPU_UTIL", kLabels + kPod + R"(,vgpu="0")", "30"),
                                       Line("FB_USED", kLabels, "3") +
                                           Line("FB_USED", kLabels + kPod + R"(,vgpu="0")", "2"),
                                       Line("POWER_USAGE", kLabels, "71.5")));
}

TEST(DcgmTest, AContainerHasItsSeriesFromItsGrantOnAndNoneForADeviceOfOthers) {
  Snapshot snapshot = kIdle;
  const std::vector<Container> containers = {{.pod_name = "team/train-0",
                                              .pod = "uid-1",
                                              .container = "main",
                                              .division = "vgpu",
                                              .parts = {{kGpu, 1024, 30}},
                                              .file = "/x",
                                              .problem = Error{Reason::kNotFound, "no region yet"}},
                                             {.pod_name = "team/liar",
                                              .parts = {{"GPU-other", 1024, 30}},
                                              .file = "/y",
                                              .region = {.devices = {{.uuid = kGpu, .used = kMib}}},
                                              .got = {50.0}}};
  snapshot.containers = containers;
  EXPECT_EQ(
      ExposeDcgm(snapshot),
      Page(Line("GPU_UTIL", kLabels, "40") + Line("GPU_UTIL", kLabels + kPod + R"(,vgpu="0")", "0"),
           Line("FB_USED", kLabels, "3") + Line("FB_USED", kLabels + kPod + R"(,vgpu="0")", "0"),
           Line("POWER_USAGE", kLabels, "71.5")));
}

TEST(DcgmTest, ContainersThatShareADeviceByTimeHaveTheDevicesValues) {
  for (const char* division : {"replicas", "mps"}) {
    Snapshot snapshot = kIdle;
    Container container{.pod_name = "team/train-0",
                        .pod = "uid-1",
                        .container = "main",
                        .division = division,
                        .parts = {{kGpu, 0, 0}}};
    std::vector<Container> containers = {container, container};
    containers.back().container = "side";
    snapshot.containers = containers;
    const std::string first = kLabels + kPod + R"(,vgpu="0")";
    const std::string second =
        kLabels + R"(,container="side",namespace="team",pod="train-0",pod_uid="uid-1",vgpu="1")";
    EXPECT_EQ(ExposeDcgm(snapshot),
              Page(Line("GPU_UTIL", kLabels, "40") + Line("GPU_UTIL", first, "40") +
                       Line("GPU_UTIL", second, "40"),
                   Line("FB_USED", kLabels, "3") + Line("FB_USED", first, "3") +
                       Line("FB_USED", second, "3"),
                   Line("POWER_USAGE", kLabels, "71.5")));
  }
}

TEST(DcgmTest, APartitionHasItsMemoryWithItsInstanceAndItsHolder) {
  Snapshot snapshot = kIdle;
  snapshot.devices.front().device.partitions = {
      {"MIG-1", "1g.10gb", 7, 0}, {"MIG-2", "2g.20gb", 9, 0}, {"MIG-3", "1g.10gb", 11, 0}};
  snapshot.devices.front().sample->partitions = {{"MIG-1", 2 * kMib, 5 * kMib},
                                                 {"MIG-2", 0, 8 * kMib}};
  const std::vector<Container> containers = {{.pod_name = "team/train-0",
                                              .pod = "uid-1",
                                              .container = "main",
                                              .division = "whole",
                                              .parts = {{"MIG-1", 0, 0}}}};
  snapshot.containers = containers;
  const auto instance = [](const std::string& profile) {
    std::string labels = kLabels;
    return labels.insert(labels.find("hostname="), profile + ",");
  };
  const std::string held = instance(R"(GPU_I_PROFILE="1g.10gb",GPU_I_ID="7")") + kPod;
  const std::string idle = instance(R"(GPU_I_PROFILE="2g.20gb",GPU_I_ID="9")");
  EXPECT_EQ(
      ExposeDcgm(snapshot),
      Series("GPU_UTIL", "gauge", "Percent of time with a kernel.",
             Line("GPU_UTIL", kLabels, "40")) +
          Series("FB_USED", "gauge", "Used memory in MiB.",
                 Line("FB_USED", kLabels, "3") + Line("FB_USED", held, "2") +
                     Line("FB_USED", idle, "0")) +
          Series("FB_FREE", "gauge", "Free memory in MiB.",
                 Line("FB_FREE", held, "5") + Line("FB_FREE", idle, "8")) +
          Series("POWER_USAGE", "gauge", "Power in watts.", Line("POWER_USAGE", kLabels, "71.5")));
}

}  // namespace
}  // namespace tessera::monitor
