// SPDX-License-Identifier: Apache-2.0
// Fault codes of Ascend chips, and what each class of them means for a device. The classes are
// those of mind-cluster's faultCode.json, 22bb3d98. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "health/health.h"

namespace tessera::ascend {

// From the mildest to the worst.
enum class FaultClass : uint8_t {
  kNotHandle,
  kSubHealth,
  kRestartRequest,   // the program's request failed
  kRestartBusiness,  // the program must start anew
  kFreeRestart,      // needs a reset, once it is idle
  kRestart,          // needs a reset
  kPreSeparate,      // takes no new work
  kSeparate,         // broken
};
std::string_view FaultClassName(FaultClass fault);  // mind-cluster's: "RestartNPU"

inline constexpr uint32_t kCardDropped = 0x40F84E00;
inline constexpr uint32_t kNetworkLinkDown = 0x81078603;

// The class of a code that the table has.
std::optional<FaultClass> TableClassOf(uint32_t code);
// `severity`: 0 to 3, as DCMI's health. A code that the table does not have counts as kSeparate
// from severity 2 on.
FaultClass ClassOf(uint32_t code, uint32_t severity);

// The notation of the table: "80E1:8006,8400-01" are the codes 80E18006, 80E18400 and 80E18401.
bool HasCode(std::string_view table, uint32_t code);

struct Fault {
  uint32_t code = 0;
  FaultClass is = FaultClass::kNotHandle;
  bool operator==(const Fault&) const = default;
};
// The worst of the codes; null: there is none.
std::optional<Fault> WorstOf(std::span<const uint32_t> codes, uint32_t severity);

// "fault 80E01801 (RestartBusiness)".
std::string TextOf(const Fault& fault);
// Evidence of a fault that stands.
Evidence EvidenceOf(const Fault& fault, EvidenceSource source);

}  // namespace tessera::ascend
