// SPDX-License-Identifier: Apache-2.0
// Writes the device metrics in Prometheus' text format, under the names that HAMi's dashboards use.
// A cluster may have 80,000 devices, so the page is made in steps and the loop runs between them.
// One thread.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "scheduler/cluster.h"

namespace tessera::scheduler {

class DeviceMetrics {
 public:
  // Covers the nodes that exist now. A node that disappears before its step is left out.
  explicit DeviceMetrics(const Cluster& cluster);

  // Adds some nodes. False when all nodes are done.
  bool Step();
  // The whole text, after Step has returned false.
  std::string Release();

 private:
  enum Family : uint8_t {
    kMemoryLimit,
    kCoreLimit,
    kSharedCount,
    kMemoryAllocated,
    kCoreAllocated,
    kMemoryRatio,
    kPodMemory,
    kPodCores,
    kQuotaUsed,
    kQuotaLimit,
    kFamilies,
  };

  void AddNode(const std::string& name);
  void AddQuotas();
  void Add(Family family, std::string_view labels, double value);

  const Cluster& cluster_;
  std::vector<std::string> nodes_;  // still to be written
  std::array<std::string, kFamilies> texts_;
};

}  // namespace tessera::scheduler
