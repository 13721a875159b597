// SPDX-License-Identifier: Apache-2.0
// What devices of the cluster have been given to pods, in Prometheus' text format, by the names
// that HAMi's scheduler has for it: its dashboards work. A cluster's 80,000 devices are written in
// steps, between which the loop does other work. One thread.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "scheduler/cluster.h"

namespace tessera::scheduler {

class DeviceMetrics {
 public:
  // Begins with the nodes that are there; one that goes meanwhile is left out.
  explicit DeviceMetrics(const Cluster& cluster);

  // Some nodes more; false: there are none.
  bool Step();
  // All of it, once there are none.
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
  std::vector<std::string> nodes_;  // that are still to come
  std::array<std::string, kFamilies> texts_;
};

}  // namespace tessera::scheduler
