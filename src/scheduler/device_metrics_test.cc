// SPDX-License-Identifier: Apache-2.0
#include "scheduler/device_metrics.h"

#include <gtest/gtest.h>

#include "hami/names.h"
#include "hami/node_register.h"

namespace tessera::scheduler {
namespace {

class DeviceMetricsTest : public testing::Test {
 protected:
  void PutNode(const std::string& name, const std::string& type = "NVIDIA A100") {
    const hami::RegisteredDevice gpu{.id = "GPU-" + name,
                                     .index = 1,
                                     .count = 10,
                                     .devmem = 8000,
                                     .devcore = 100,
                                     .type = type,
                                     .health = true};
    cluster_.PutNode({.name = name,
                      .annotations = {{std::string(hami::kNvidia.node_register),
                                       hami::EncodeRegister(std::vector{gpu})}}});
  }
  std::string Page() const {
    DeviceMetrics metrics(cluster_);
    while (metrics.Step()) {
    }
    return metrics.Release();
  }

  Cluster cluster_{{hami::ServedVendor()}, {}};
};

TEST_F(DeviceMetricsTest, DevicesPodsAndQuotasAreToldByHAMisNames) {
  PutNode("a");
  kube::Container main{.name = "main", .limits = {{"nvidia.com/gpu", "1"}}};
  kube::Pod pod{
      .uid = "uid-1", .pod_namespace = "team", .name = "train", .node = "a", .containers = {main}};
  pod.annotations[std::string(hami::kNvidia.pod_allocated)] = "GPU-a,NVIDIA,2000,25:;";
  cluster_.PutPod(std::make_shared<const kube::Pod>(pod));
  cluster_.quotas().Put(
      {.quota_namespace = "team", .name = "gpus", .hard = {{"limits.nvidia.com/gpumem", "4000"}}});

  EXPECT_EQ(Page(),
            R"(# HELP hami_gpu_memory_limit_bytes Memory of the device that pods can have.
# TYPE hami_gpu_memory_limit_bytes gauge
hami_gpu_memory_limit_bytes{node="a",device_uuid="GPU-a",device_index="1",device_type="NVIDIA A100",zone="vGPU"} 8388608000
# HELP hami_gpu_core_limit_ratio Compute time that pods can have, in percent.
# TYPE hami_gpu_core_limit_ratio gauge
hami_gpu_core_limit_ratio{node="a",device_uuid="GPU-a",device_index="1",device_type="NVIDIA A100",zone="vGPU"} 100
# HELP hami_gpu_shared_count Containers on the device.
# TYPE hami_gpu_shared_count gauge
hami_gpu_shared_count{node="a",device_uuid="GPU-a",device_index="1",device_type="NVIDIA A100",zone="vGPU"} 1
# HELP hami_gpu_memory_allocated_bytes Memory that pods have of the device.
# TYPE hami_gpu_memory_allocated_bytes gauge
hami_gpu_memory_allocated_bytes{node="a",device_uuid="GPU-a",device_index="1",device_type="NVIDIA A100",zone="vGPU"} 2097152000
# HELP hami_gpu_core_allocated_ratio Compute time that pods have, in percent.
# TYPE hami_gpu_core_allocated_ratio gauge
hami_gpu_core_allocated_ratio{node="a",device_uuid="GPU-a",device_index="1",device_type="NVIDIA A100",zone="vGPU"} 25
# HELP hami_node_gpu_memory_allocated_ratio Memory that pods have, from 0 to 1.
# TYPE hami_node_gpu_memory_allocated_ratio gauge
hami_node_gpu_memory_allocated_ratio{node="a",device_uuid="GPU-a",device_index="1",device_type="NVIDIA A100",zone="vGPU"} 0.25
# HELP hami_vgpu_memory_allocated_bytes Memory that the pod has of the device.
# TYPE hami_vgpu_memory_allocated_bytes gauge
hami_vgpu_memory_allocated_bytes{namespace="team",node="a",pod="train",container_index="0",device_uuid="GPU-a",zone="vGPU"} 2097152000
# HELP hami_vgpu_core_allocated_ratio Compute time that the pod has, in percent.
# TYPE hami_vgpu_core_allocated_ratio gauge
hami_vgpu_core_allocated_ratio{namespace="team",node="a",pod="train",container_index="0",device_uuid="GPU-a",zone="vGPU"} 25
# HELP hami_resource_quota_used What pods of the namespace have.
# TYPE hami_resource_quota_used gauge
hami_resource_quota_used{namespace="team",quota_name="nvidia.com/gpumem",limit="4000",zone="vGPU"} 2000
# HELP hami_resource_quota_limit What pods of the namespace may have.
# TYPE hami_resource_quota_limit gauge
hami_resource_quota_limit{namespace="team",quota_name="nvidia.com/gpumem",zone="vGPU"} 4000
)");
}

TEST_F(DeviceMetricsTest, ManyNodesAreToldInStepsAndOneThatGoesMeanwhileIsLeftOut) {
  for (int n = 0; n < 250; ++n) PutNode(fmt::format("node-{:03}", n));
  DeviceMetrics metrics(cluster_);
  EXPECT_TRUE(metrics.Step());
  cluster_.RemoveNode("node-199");
  EXPECT_TRUE(metrics.Step());
  EXPECT_FALSE(metrics.Step());
  const std::string page = metrics.Release();
  EXPECT_NE(page.find("GPU-node-000"), std::string::npos);
  EXPECT_NE(page.find("GPU-node-249"), std::string::npos);
  EXPECT_EQ(page.find("GPU-node-199"), std::string::npos);
}

TEST_F(DeviceMetricsTest, WhatANodeHasWrittenEndsNoLabel) {
  PutNode("a", "x\"} 1\n\\");
  EXPECT_NE(Page().find(R"(device_type="x\"} 1\n\\",zone="vGPU"})"), std::string::npos);
}

}  // namespace
}  // namespace tessera::scheduler
