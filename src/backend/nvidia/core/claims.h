// SPDX-License-Identifier: Apache-2.0
// Assigns GPUs and MIG devices to resources, by configuration and scan. Each belongs to one
// resource only, or it would be granted twice. The first resource that fits has it. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backend/nvidia/core/gpu.h"
#include "backend/nvidia/core/nvidia_config.h"

namespace tessera::nvidia {

// Whether the GPU meets all conditions of the selector.
bool Fits(const NvidiaConfig::Selector& selector, const Gpu& gpu);

// Whether the pattern fits the profile, either as it is ("1g.10gb+me") or as in a resource's name
// ("1g.10gb.me").
bool FitsProfile(const std::string& pattern, std::string_view profile);

// The resource's part of one GPU.
struct ClaimedPart {
  bool whole = false;             // the GPU itself
  std::vector<size_t> devices{};  // indices of its MIG devices
  bool operator==(const ClaimedPart&) const = default;
};
ClaimedPart ClaimedPartOf(const NvidiaConfig& config, const Gpu& gpu);

// Whether a GPU that could not be read may be the resource's, by its index.
bool MayBePartOf(const NvidiaConfig& config, unsigned index);

// The GPUs, by index, that a resource of equally divided GPUs (InMigMode::kDevices) must leave out,
// each with the reason and advice. The GPU is divided differently, or has trouble of its own
// (Mig::Trouble). The division of most GPUs counts; in a tie, that of the first GPU.
std::map<unsigned, std::string> MisdividedGpus(const NvidiaConfig& config,
                                               const std::map<unsigned, Gpu>& gpus);

}  // namespace tessera::nvidia
