// SPDX-License-Identifier: Apache-2.0
// Which GPUs and MIG devices are a resource's, by its configuration and what was found. Each is of
// one resource only, or it would be granted twice: where several fit it, the first has it. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backend/nvidia/core/gpu.h"
#include "backend/nvidia/core/nvidia_config.h"

namespace tessera::nvidia {

// Whether all holds of the GPU that the selector says.
bool Fits(const NvidiaConfig::Selector& selector, const Gpu& gpu);

// Whether the pattern fits the profile, as it is ("1g.10gb+me") or as it stands in the name of a
// resource ("1g.10gb.me").
bool FitsProfile(const std::string& pattern, std::string_view profile);

// What of one GPU is the resource's.
struct ClaimedPart {
  bool whole = false;             // the GPU itself
  std::vector<size_t> devices{};  // these of its MIG devices
  bool operator==(const ClaimedPart&) const = default;
};
ClaimedPart ClaimedPartOf(const NvidiaConfig& config, const Gpu& gpu);

// A GPU of which nothing is known but that it is there.
bool MayBePartOf(const NvidiaConfig& config, unsigned index);

// The GPUs, by index, that a resource has to leave out whose devices are to be all alike
// (InMigMode::kDevices), each with what is the matter and what to do: it is not divided as the
// others are, or has trouble of its own (Mig::Trouble). What most GPUs have counts, of equally many
// what the first one has.
std::map<unsigned, std::string> MisdividedGpus(const NvidiaConfig& config,
                                               const std::map<unsigned, Gpu>& gpus);

}  // namespace tessera::nvidia
