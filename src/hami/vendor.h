// SPDX-License-Identifier: Apache-2.0
// What HAMi calls the things of one vendor: its annotations, words, formats, units and resources.
// The lock of a node is one for all of them (names.h). The agent and a scheduler read the same row.
// Rows of vendors whose resources a site names itself are made by vendor_table.h.
// Plain data; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "grant/grant.h"
#include "hami/names.h"
#include "placement/device_choice.h"

namespace tessera {

struct VendorRow {
  enum class Register : uint8_t { kJson, kText };  // how node_register is written

  std::string_view word{};  // stands for the vendor in a pod's devices
  // Annotations of a node.
  std::string_view node_register{};  // its devices (node_register.h)
  Register node_register_format = Register::kJson;
  std::string_view node_score{};      // how close they are (link_scores.h); empty: there is none
  std::string_view node_handshake{};  // handshake.h; empty: there is none
  std::string_view node_mode{};  // "true": its devices' mode is kModeCore; empty: there is none
  // Annotations of a pod (pod_devices.h): what is still to be handed out, and all of it.
  std::string_view pod_to_allocate{};
  std::string_view pod_allocated{};
  // What its plugin reads besides (vendor_annotations.h); empty: there is none.
  std::string_view pod_devices_json{};
  std::string_view pod_time{};  // when the devices were chosen, in unix seconds
  // Annotations of a pod that its user writes: types and ids that it wants, and does not want.
  std::string_view use_type{};
  std::string_view no_use_type{};
  std::string_view use_id{};
  std::string_view no_use_id{};
  std::string_view use_mode{};    // modes of devices
  std::string_view usual_mode{};  // of pods that do not say kModeCore; empty: any that they say
  std::string_view numa_bind{};
  // Resources, as the chart names them.
  std::string_view count{};
  std::string_view memory{};
  std::string_view percentage{};
  std::string_view cores{};
  int memory_unit = 1;  // what a request for one counts, MiB

  // What the types of all its devices have in them; empty: whatever its plugin registers is its.
  std::string_view family{};
  // Its nodes may have an agent of ours, whose mark says whether a pod needs the node's lock, or a
  // plugin that registers nothing and hands out whole devices; and quotas of its resources hold.
  // Pods of others always need the lock, and a node that offers none of `count` has lost its
  // plugin.
  bool has_agent = false;
  SharingTraits traits{};
  // How the devices of a container belong together: those whose `group_key` (a member of their
  // custominfo) is the same, or pairs of indices. With `group_if`, another member and its value,
  // where that is so alone.
  Together together = Together::kAnywhere;
  bool several_closest = false;
  std::string_view group_key{};
  std::string_view group_if_key{};
  std::string_view group_if_value{};
  // Environment of containers.
  std::string_view name_variable{};  // the container's own name; empty: there is none
  // Tells a container that asks for none of its devices so.
  std::string_view hiding_variable{};
  std::string_view hiding_value{};

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

inline constexpr const Vendor* kVendors[] = {&kNvidia};

}  // namespace tessera::hami
