// SPDX-License-Identifier: Apache-2.0
// What HAMi calls the things of one vendor: its annotations, words, formats, units and resources.
// The lock of a node is one for all of them (names.h). The agent and a scheduler read the same row.
// Plain data; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "grant/grant.h"

namespace tessera {

struct VendorRow {
  enum class Register : uint8_t { kJson, kText };  // how node_register is written

  std::string_view word;  // stands for the vendor in a pod's devices
  // Annotations of a node.
  std::string_view node_register;  // its devices (node_register.h)
  Register node_register_format = Register::kJson;
  std::string_view node_score;      // how close they are (link_scores.h); empty: there is none
  std::string_view node_handshake;  // handshake.h; empty: there is none
  // Annotations of a pod (pod_devices.h): what is still to be handed out, and all of it.
  std::string_view pod_to_allocate;
  std::string_view pod_allocated;
  // Annotations of a pod that its user writes: types and ids that it wants, and does not want.
  std::string_view use_type;
  std::string_view no_use_type;
  std::string_view use_id;
  std::string_view no_use_id;
  // Resources, as the chart names them.
  std::string_view count;
  std::string_view memory;
  std::string_view percentage;
  std::string_view cores;
  int memory_unit = 1;  // what a request for one counts, MiB

  // How the chart names what pods ask for.
  FractionRequests Requests() const {
    return {.memory_name = std::string(memory),
            .percentage_name = std::string(percentage),
            .cores_name = std::string(cores),
            .memory_factor = memory_unit,
            .vendor = this};
  }
};

}  // namespace tessera

namespace tessera::hami {

using Vendor = VendorRow;

inline constexpr Vendor kNvidia = {
    .word = "NVIDIA",
    .node_register = "hami.io/node-nvidia-register",
    .node_score = "hami.io/node-nvidia-score",
    .node_handshake = "hami.io/node-handshake",
    .pod_to_allocate = "hami.io/vgpu-devices-to-allocate",
    .pod_allocated = "hami.io/vgpu-devices-allocated",
    .use_type = "nvidia.com/use-gputype",
    .no_use_type = "nvidia.com/nouse-gputype",
    .use_id = "nvidia.com/use-gpuuuid",
    .no_use_id = "nvidia.com/nouse-gpuuuid",
    .count = "nvidia.com/gpu",
    .memory = "nvidia.com/gpumem",
    .percentage = "nvidia.com/gpumem-percentage",
    .cores = "nvidia.com/gpucores",
};

inline constexpr const Vendor* kVendors[] = {&kNvidia};

}  // namespace tessera::hami
