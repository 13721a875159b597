// SPDX-License-Identifier: Apache-2.0
#include "fraction/granted_metrics.h"

#include "placement/capacity.h"
#include "placement/placement.h"

namespace tessera {

void SetGranted(const Granted& granted, const Offer& offer, const Rendering& rendering,
                http::Metrics& metrics) {
  using http::Metric;
  constexpr double kMebibyte = 1 << 20;
  for (const Metric metric :
       {Metric::kVgpuContainers, Metric::kVgpuMemory, Metric::kVgpuMemoryGranted,
        Metric::kVgpuCores, Metric::kVgpuCoresGranted}) {
    metrics.Forget(metric, offer.resource);
  }
  if (!rendering.fractions) return;
  metrics.Set(Metric::kVgpuContainers, {offer.resource}, granted.containers);
  for (const DeviceCapacity& capacity : CapacitiesOf(offer, *rendering.fractions)) {
    const auto found = granted.by_device.find(capacity.device);
    const auto taken = found == granted.by_device.end() ? DeviceUsage() : found->second;
    const auto set = [&](Metric metric, double value) {
      metrics.Set(metric, {offer.resource, capacity.device}, value);
    };
    set(Metric::kVgpuMemory, static_cast<double>(capacity.memory) * kMebibyte);
    set(Metric::kVgpuMemoryGranted, static_cast<double>(taken.memory) * kMebibyte);
    set(Metric::kVgpuCores, capacity.cores);
    set(Metric::kVgpuCoresGranted, static_cast<double>(taken.cores));
  }
}

}  // namespace tessera
