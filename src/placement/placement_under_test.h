// SPDX-License-Identifier: Apache-2.0
// Builds pods that request parts of two GPUs, and prints their placements. Header-only, for tests.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "placement/placement.h"

namespace tessera {

inline constexpr char kGpu[] = "nvidia.com/gpu";
inline constexpr char kFirst[] = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42";
inline constexpr char kSecond[] = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a43";

inline std::vector<DeviceCapacity> TwoCapacities() {
  return {{.device = kFirst, .containers = 10, .memory = 8000, .cores = 100},
          {.device = kSecond, .containers = 10, .memory = 8000, .cores = 100}};
}

// A container that requests `count` cards, with this memory in MiB of each and a third of its time.
inline kube::Container Asking(const std::string& name, int count, int memory,
                              kube::Container::Kind kind = kube::Container::Kind::kApp) {
  kube::Container container{.name = name, .kind = kind};
  if (count > 0) container.limits[kGpu] = std::to_string(count);
  if (memory > 0) container.limits["nvidia.com/gpumem"] = std::to_string(memory);
  container.limits["nvidia.com/gpucores"] = "30";
  return container;
}

inline kube::Pod PodWith(std::vector<kube::Container> containers) {
  kube::Pod pod{.uid = "uid-1", .pod_namespace = "team", .name = "train", .node = "worker-1"};
  pod.containers = std::move(containers);
  return pod;
}

// The error, or "NAME: PARTS" of all containers.
inline std::string PlacementText(const Result<PodPlacement>& placement) {
  if (!placement) {
    return fmt::format("{}: {}", ReasonName(placement.error().reason), placement.error().message);
  }
  std::string text;
  for (const PlacedContainer& container : *placement) {
    text += fmt::format("{}: {};", container.name, PartsText(container.parts));
  }
  return text;
}

}  // namespace tessera
