// SPDX-License-Identifier: Apache-2.0
// A node full of devices, for the benchmarks.
#pragma once

#include <fmt/core.h>

#include <optional>

#include "share/share.h"

namespace tessera::bench {

inline constexpr char kResource[] = "dummy.com/npu";

// Devices "0", "1", ... spread over two NUMA nodes.
inline Inventory Node(int64_t devices) {
  Inventory inventory;
  for (int64_t n = 0; n < devices; ++n) {
    Device device;
    device.key = {kResource, fmt::format("{}", n)};
    device.model = "dummy NPU";
    device.visible_as = device.key.id;
    device.numa_nodes = {n < devices / 2 ? 0 : 1};
    inventory.devices.push_back(std::move(device));
  }
  return inventory;
}

inline std::optional<Error> Healthy(const Device&) {
  return std::nullopt;
}

inline Offer WholeOffer(int64_t devices) {
  return Divide(kResource, {}, Node(devices), kResource, Healthy);
}

}  // namespace tessera::bench
