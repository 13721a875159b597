// SPDX-License-Identifier: Apache-2.0
#include "backend/ascend/faults.h"

#include <fmt/core.h>

#include <algorithm>

#include "backend/ascend/fault_table.h"
#include "backend/sysfs.h"

namespace tessera::ascend {
namespace {

constexpr int kHex = 16;

// Cuts off what is before the separator, and the separator.
std::string_view Next(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

// Whether the low half of a code is in "8400-01" or is "8400". A run's end replaces the last
// digits.
bool IsIn(std::string_view run, uint32_t low) {
  const std::string_view first = Next(run, '-');
  const auto from = sysfs::Number<uint32_t>(first, kHex);
  if (!from || run.size() > first.size()) return false;
  const std::string last =
      std::string(first.substr(0, first.size() - run.size())) + std::string(run);
  const auto to = sysfs::Number<uint32_t>(last, kHex);
  return to && *from <= low && low <= *to;
}

}  // namespace

std::string_view FaultClassName(FaultClass fault) {
  constexpr std::string_view kNames[] = {"NotHandle",       "SubHealth",      "RestartRequest",
                                         "RestartBusiness", "FreeRestartNPU", "RestartNPU",
                                         "PreSeparateNPU",  "SeparateNPU"};
  return kNames[static_cast<size_t>(fault)];
}

bool HasCode(std::string_view table, uint32_t code) {
  while (!table.empty()) {
    std::string_view runs = Next(table, ' ');
    const auto high = sysfs::Number<uint32_t>(Next(runs, ':'), kHex);
    if (high != code >> 16) continue;
    while (!runs.empty()) {
      if (IsIn(Next(runs, ','), code & 0xffff)) return true;
    }
  }
  return false;
}

std::optional<FaultClass> TableClassOf(uint32_t code) {
  for (const FaultRow& row : FaultTable()) {
    if (HasCode(row.codes, code)) return row.is;
  }
  return std::nullopt;
}

FaultClass ClassOf(uint32_t code, uint32_t severity) {
  constexpr uint32_t kMinor = 1;
  return TableClassOf(code).value_or(severity > kMinor ? FaultClass::kSeparate
                                                       : FaultClass::kNotHandle);
}

std::optional<Fault> WorstOf(std::span<const uint32_t> codes, uint32_t severity) {
  std::optional<Fault> worst;
  for (const uint32_t code : codes) {
    const Fault fault{code, ClassOf(code, severity)};
    if (!worst || fault.is > worst->is) worst = fault;
  }
  return worst;
}

std::string TextOf(const Fault& fault) {
  return fmt::format("fault {:08X} ({})", fault.code, FaultClassName(fault.is));
}

Evidence EvidenceOf(const Fault& fault, EvidenceSource source) {
  Evidence evidence{.kind = EvidenceKind::kFatal,
                    .source = source,
                    .reason = fault.code == kCardDropped ? Reason::kDeviceLost : Reason::kNpuFault,
                    .detail = TextOf(fault)};
  switch (fault.is) {
    case FaultClass::kNotHandle:
    case FaultClass::kSubHealth:
      return {.kind = EvidenceKind::kGood, .source = source, .detail = {}};
    case FaultClass::kRestartRequest:
      evidence.kind = EvidenceKind::kBad;
      break;
    case FaultClass::kFreeRestart:
    case FaultClass::kRestart:
      evidence.remedy = Remedy::kReset;
      break;
    default:
      break;
  }
  return evidence;
}

}  // namespace tessera::ascend
