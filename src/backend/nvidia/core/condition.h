// SPDX-License-Identifier: Apache-2.0
// The condition of an answering GPU, as polled: memory errors, spare memory, NVLinks and clocks.
// Sources: NVML's reference and NVIDIA's "GPU Memory Error Management". A value that the GPU or
// driver does not report counts as good. Pure but for ReadCondition; plain data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "backend/nvidia/nvml/nvml.h"
#include "health/health.h"

namespace tessera::nvidia {

// Evidence from a check.
inline Evidence FromCheck(EvidenceKind kind, Reason reason, std::string detail) {
  return {kind, EvidenceSource::kCheck, reason, std::move(detail)};
}

struct Condition {
  std::optional<uint64_t> ecc_errors{};  // uncorrected, since the driver's start or a reset
  std::optional<bool> remap_pending{};   // a row of memory waits for its replacement by a spare
  bool remap_failed = false;             // a row could not be replaced
  std::optional<bool>
      retired_pending{};   // a page waits to be retired; before Ampere instead of rows
  uint64_t links_up = 0;   // a bit for each NVLink
  uint64_t slowdowns = 0;  // NVML's clock reasons that come from heat or power
  bool operator==(const Condition&) const = default;
};

// Four calls of NVML and one for each NVLink. Besides these a check makes only the three that show
// that the GPU answers. May hang with the GPU.
nvml::Answer<Condition> ReadCondition(const nvml::Library& library, nvml::DeviceHandle gpu);

// The trouble, if any, compared with the condition of the last check. Errors count if they have
// grown, and a link if it was up before.
std::optional<Evidence> TroubleOf(const Condition& before, const Condition& now);

// The condition to compare the next check with. It has all links that were ever up, and the last
// known values.
Condition Remembered(const Condition& before, Condition now);

// Whether a state is gone that only a reset or the driver's start clears.
bool ShowsReset(const Condition& before, const Condition& now);

// "heat, power brake"; empty: none.
std::string SlowdownText(uint64_t slowdowns);

}  // namespace tessera::nvidia
