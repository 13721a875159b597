// SPDX-License-Identifier: Apache-2.0
// How a GPU that answers fares, as it can be asked: memory errors, spares of memory, NVLinks,
// clocks. Source: NVML's reference and NVIDIA's "GPU Memory Error Management". What a GPU or driver
// does not tell counts as nothing wrong. Pure but for ReadCondition; plain data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "backend/nvidia/nvml/nvml.h"
#include "health/health.h"

namespace tessera::nvidia {

// What a check found.
inline Evidence FromCheck(EvidenceKind kind, Reason reason, std::string detail) {
  return {kind, EvidenceSource::kCheck, reason, std::move(detail)};
}

struct Condition {
  std::optional<uint64_t> ecc_errors{};   // uncorrected, since the driver's start or a reset
  std::optional<bool> remap_pending{};    // a row of memory waits to be replaced by a spare
  bool remap_failed = false;              // it could not be
  std::optional<bool> retired_pending{};  // a page waits to be retired: before Ampere, as rows are
  uint64_t links_up = 0;                  // a bit an NVLink
  uint64_t slowdowns = 0;  // those of NVML's clock reasons that heat or power are behind
  bool operator==(const Condition&) const = default;
};

// Four calls of NVML and one for each NVLink: all that a check costs beyond finding out whether the
// GPU answers, which takes three. May hang with the GPU.
nvml::Answer<Condition> ReadCondition(const nvml::Library& library, nvml::DeviceHandle gpu);

// What is wrong with it, if anything, after the condition of the look before. Errors count when
// they have grown; a link is missed when it was up.
std::optional<Evidence> TroubleOf(const Condition& before, const Condition& now);

// What to compare the next look with: links that were ever up, and the last that was told.
Condition Remembered(const Condition& before, Condition now);

// Whether something is gone that only a reset, or the driver's start, takes away.
bool ShowsReset(const Condition& before, const Condition& now);

// "heat, power brake"; empty: none.
std::string SlowdownText(uint64_t slowdowns);

}  // namespace tessera::nvidia
