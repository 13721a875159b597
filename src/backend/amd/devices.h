// SPDX-License-Identifier: Apache-2.0
// Makes devices of AMD GPUs and their partitions: ids, nodes, nearness, and the resource that each
// belongs to. Pure but for AddNodes, which looks for device nodes. Any thread.
#pragma once

#include <string>
#include <vector>

#include "backend/amd/amd_config.h"
#include "backend/amd/gpus.h"
#include "device/device.h"

namespace tessera::amd {

// Device::order of a GPU's parts begins at this times its number; more than a GPU has parts.
inline constexpr int kOrderStep = 64;

// The id of a GPU, or of one of its parts: "0000:05:00.0", "0000:05:00.0-3". It survives reboots
// and changes of other GPUs. A GPU that is one part has no number in its id.
std::string IdOf(const AmdConfig& config, const Gpu& gpu, const Part* part);

// The devices of a resource. A GPU without parts that compute is a device with a defect.
std::vector<Device> DevicesOf(const os::Root& root, const std::string& resource,
                              const AmdConfig& config, const std::vector<Gpu>& gpus);

// The nearness of two parts, from 0 to 60. Links have it without the nearness of the farthest pair,
// which changes no choice. It is what ROCm's device plugin takes off from the worst sum
// of its three costs, so that the smallest sum has the most points.
int PointsOf(const Gpu& a, const Part& a_part, const Gpu& b, const Part& b_part);

}  // namespace tessera::amd
