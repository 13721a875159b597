// SPDX-License-Identifier: Apache-2.0
#include "scheduler/device_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "http/metrics.h"

namespace tessera::scheduler {
namespace {

using http::EscapedLabel;

constexpr size_t kNodesAtOnce = 100;
constexpr double kMiB = 1 << 20;

struct FamilyInfo {
  std::string_view name;
  std::string_view help;
};
// Indexed by DeviceMetrics::Family.
constexpr std::array kInfos = {
    FamilyInfo{"hami_gpu_memory_limit_bytes", "Memory of the device that pods can have"},
    FamilyInfo{"hami_gpu_core_limit_ratio", "Compute time that pods can have, in percent"},
    FamilyInfo{"hami_gpu_shared_count", "Containers on the device"},
    FamilyInfo{"hami_gpu_memory_allocated_bytes", "Memory that pods have of the device"},
    FamilyInfo{"hami_gpu_core_allocated_ratio", "Compute time that pods have, in percent"},
    FamilyInfo{"hami_node_gpu_memory_allocated_ratio", "Memory that pods have, from 0 to 1"},
    FamilyInfo{"hami_vgpu_memory_allocated_bytes", "Memory that the pod has of the device"},
    FamilyInfo{"hami_vgpu_core_allocated_ratio", "Compute time that the pod has, in percent"},
    FamilyInfo{"hami_resource_quota_used", "What pods of the namespace have"},
    FamilyInfo{"hami_resource_quota_limit", "What pods of the namespace may have"},
};

}  // namespace

DeviceMetrics::DeviceMetrics(const Cluster& cluster)
    : cluster_(cluster), nodes_(cluster.NodeNames()) {
  static_assert(kInfos.size() == kFamilies);
  std::ranges::sort(nodes_, std::greater());
}

bool DeviceMetrics::Step() {
  for (size_t i = 0; i < kNodesAtOnce && !nodes_.empty(); ++i) {
    AddNode(nodes_.back());
    nodes_.pop_back();
  }
  if (nodes_.empty()) AddQuotas();
  return !nodes_.empty();
}

void DeviceMetrics::AddNode(const std::string& name) {
  const std::string node = EscapedLabel(name);
  cluster_.EachDevice(name, [&](const CandidateDevice& device) {
    const std::string labels =
        fmt::format(R"(node="{}",device_uuid="{}",device_index="{}",device_type="{}")", node,
                    EscapedLabel(device.capacity.device), device.index, EscapedLabel(device.type));
    const auto memory = static_cast<double>(device.capacity.memory);
    const auto taken = static_cast<double>(device.used.memory);
    Add(kMemoryLimit, labels, memory * kMiB);
    Add(kCoreLimit, labels, static_cast<double>(device.capacity.cores));
    Add(kSharedCount, labels, static_cast<double>(device.used.containers));
    Add(kMemoryAllocated, labels, taken * kMiB);
    Add(kCoreAllocated, labels, static_cast<double>(device.used.cores));
    Add(kMemoryRatio, labels, memory > 0 ? taken / memory : 0);
  });
  cluster_.EachTaken(
      name, [&](std::string_view pod, const std::string& device, const DeviceUsage& usage) {
        const size_t slash = pod.find('/');
        const std::string labels =
            fmt::format(R"(namespace="{}",node="{}",pod="{}",container_index="0",device_uuid="{}")",
                        EscapedLabel(pod.substr(0, slash)), node,
                        EscapedLabel(pod.substr(slash + 1)), EscapedLabel(device));
        Add(kPodMemory, labels, static_cast<double>(usage.memory) * kMiB);
        Add(kPodCores, labels, static_cast<double>(usage.cores));
      });
}

void DeviceMetrics::AddQuotas() {
  cluster_.quotas().EachLimit([&](const Quotas::Limit& limit) {
    const std::string labels = fmt::format(R"(namespace="{}",quota_name="{}")",
                                           EscapedLabel(limit.space), EscapedLabel(limit.resource));
    Add(kQuotaUsed, fmt::format(R"({},limit="{}")", labels, limit.most),
        static_cast<double>(limit.used));
    Add(kQuotaLimit, labels, static_cast<double>(limit.most));
  });
}

void DeviceMetrics::Add(Family family, std::string_view labels, double value) {
  fmt::format_to(std::back_inserter(texts_[family]), "{}{{{},zone=\"vGPU\"}} {}\n",
                 kInfos[family].name, labels, value);
}

std::string DeviceMetrics::Release() {
  std::string page;
  for (size_t family = 0; family < kFamilies; ++family) {
    if (texts_[family].empty()) continue;
    page += fmt::format("# HELP {0} {1}.\n# TYPE {0} gauge\n", kInfos[family].name,
                        kInfos[family].help);
    page += std::exchange(texts_[family], {});
  }
  return page;
}

}  // namespace tessera::scheduler
