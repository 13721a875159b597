// SPDX-License-Identifier: Apache-2.0
// HAMi's names for one vendor: annotations, words, formats, units and resources. All vendors share
// the node lock (names.h). The agent and a scheduler read the same row. vendor_table.h makes rows
// for vendors whose resources the site names. Plain data; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "grant/grant.h"
#include "hami/names.h"
#include "placement/device_choice.h"

namespace tessera {

struct VendorRow {
  enum class Register : uint8_t { kJson, kText };  // format of node_register

  std::string_view word{};  // names the vendor in a pod's devices
  // Annotations of a node.
  std::string_view node_register{};  // its devices (node_register.h)
  Register node_register_format = Register::kJson;
  std::string_view node_score{};      // their closeness (link_scores.h); empty: none
  std::string_view node_handshake{};  // handshake.h; empty: none
  std::string_view node_mode{};       // "true": its devices' mode is kModeCore; empty: none
  // Its agent writes the handshake at each look, in the form of its plugin.
  bool reports = false;
  // What its agent also registers of a device: a word for the vendor, and the key of custominfo for
  // the PCI address; empty: neither.
  std::string_view register_word{};
  std::string_view register_address{};
  // The key of custominfo for the board, 1 from the index `second_board` on, else 0; 0: none is.
  std::string_view register_board{};
  uint32_t second_board = 0;
  // The capacity (DeviceTraits::capacities) that is registered as cores; empty: compute time.
  std::string_view register_cores{};
  bool registers_numa = true;
  // Annotations of a pod (pod_devices.h): devices that are not yet granted, and all devices.
  std::string_view pod_to_allocate{};
  std::string_view pod_allocated{};
  // Its plugin also reads these (vendor_annotations.h); empty: none.
  std::string_view pod_devices_json{};
  std::string_view pod_time{};  // time of the placement, in unix seconds
  // Annotations of a pod that its user writes: wanted and unwanted types and ids.
  std::string_view use_type{};
  std::string_view no_use_type{};
  std::string_view use_id{};
  std::string_view no_use_id{};
  std::string_view use_mode{};  // wanted modes of devices
  // Mode of pods that do not say kModeCore; empty: the mode that they say.
  std::string_view usual_mode{};
  std::string_view numa_bind{};
  // Resources, as the chart names them.
  std::string_view count{};
  std::string_view memory{};
  std::string_view percentage{};
  std::string_view cores{};
  int memory_unit = 1;  // MiB that a request for 1 counts
  // The sizes of parts. Empty: any size.
  std::span<const PartTemplate> templates{};

  // Text that all its devices' types contain; empty: every device that its plugin registers is its
  // own.
  std::string_view family{};
  // True: its nodes may have our agent, whose mark tells whether a pod needs the node lock. They
  // may also have a plugin that registers nothing and grants whole devices. Quotas of its resources
  // apply. False: its pods always need the lock, and a node without `count` has lost its plugin.
  bool has_agent = false;
  SharingTraits traits{};
  // How a container's devices belong together: by equal `group_key` (a member of their custominfo),
  // or as pairs of indices. `group_if_key` and `group_if_value` restrict that to devices with this
  // member and value.
  Together together = Together::kAnywhere;
  bool several_closest = false;
  std::string_view group_key{};
  std::string_view group_if_key{};
  std::string_view group_if_value{};
  // Environment of containers.
  std::string_view name_variable{};  // for the container's own name; empty: none
  // Set in containers that ask for none of its devices.
  std::string_view hiding_variable{};
  std::string_view hiding_value{};

  // Requests with the chart's resource names.
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
    .use_mode = kUseMode,
    .numa_bind = kNumaBind,
    .count = "nvidia.com/gpu",
    .memory = "nvidia.com/gpumem",
    .percentage = "nvidia.com/gpumem-percentage",
    .cores = "nvidia.com/gpucores",
    .family = "NVIDIA",
    .has_agent = true,
    .hiding_variable = kEnvVisibleDevices,
    .hiding_value = "none",
};

inline constexpr Vendor kAmd = {
    .word = "AMD",
    .node_register = "hami.io/node-amd-register",
    .register_word = "amd",
    .register_address = "pciBDF",
    .pod_to_allocate = "hami.io/amd-devices-to-allocate",
    .pod_allocated = "hami.io/amd-devices-allocated",
    .use_type = "amd.com/use-gputype",
    .no_use_type = "amd.com/nouse-gputype",
    .use_id = "amd.com/use-gpu-uuid",
    .no_use_id = "amd.com/nouse-gpu-uuid",
    .count = "amd.com/gpu",
    .memory = "amd.com/gpumem",
    .cores = "amd.com/gpucores",
    .traits = {.core_units = true},
};

}  // namespace tessera::hami
