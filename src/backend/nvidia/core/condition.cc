// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/core/condition.h"

#include <fmt/core.h>

#include <utility>

namespace tessera::nvidia {
namespace {

constexpr uint64_t kHeat = nvml::kSoftwareThermalSlowdown | nvml::kHardwareThermalSlowdown;
constexpr uint64_t kSlowdowns = kHeat | nvml::kHardwarePowerBrake;

// Whether the GPU, the driver or missing rights make the value unknown for good.
bool IsUntold(const nvml::Failure& failure) {
  switch (failure.code) {
    case nvml::Return::kNotSupported:
    case nvml::Return::kNoPermission:
    case nvml::Return::kInvalidArgument:
    case nvml::Return::kNotFound:
    case nvml::Return::kFunctionNotFound:
      return true;
    default:
      return false;
  }
}

template <class T>
std::optional<T> Told(const nvml::Answer<T>& answer) {
  return answer ? std::optional<T>(*answer) : std::nullopt;
}

// Whether the state was set before and is known to be clear now.
bool Ended(const std::optional<bool>& before, const std::optional<bool>& now) {
  return before.value_or(false) && !now.value_or(true);
}

Evidence NeedsReset(std::string detail) {
  return {.kind = EvidenceKind::kFatal,
          .source = EvidenceSource::kCheck,
          .reason = Reason::kResetNeeded,
          .detail = std::move(detail),
          .remedy = Remedy::kReset};
}

std::string LinksText(uint64_t down) {
  std::string links;
  for (unsigned link = 0; link < nvml::kMostNvLinks; ++link) {
    if ((down >> link & 1) == 0) continue;
    links += fmt::format("{}{}", links.empty() ? "" : ", ", link);
  }
  return "NVLinks that were up are down: " + links;
}

}  // namespace

nvml::Answer<Condition> ReadCondition(const nvml::Library& library, nvml::DeviceHandle gpu) {
  const auto errors = library.EccErrors(gpu, nvml::MemoryErrorType::kUncorrected);
  if (!errors && !IsUntold(errors.error())) return tl::unexpected(errors.error());
  const auto rows = library.Remapped(gpu);
  if (!rows && !IsUntold(rows.error())) return tl::unexpected(rows.error());
  const auto retired = library.IsPageRetirementPending(gpu);
  if (!retired && !IsUntold(retired.error())) return tl::unexpected(retired.error());
  const auto reasons = library.ClockReasons(gpu);
  if (!reasons && !IsUntold(reasons.error())) return tl::unexpected(reasons.error());
  Condition condition{.ecc_errors = Told(errors),
                      .retired_pending = Told(retired),
                      .slowdowns = reasons.value_or(0) & kSlowdowns};
  if (rows) {
    condition.remap_pending = rows->pending;
    condition.remap_failed = rows->failed;
  }
  for (unsigned link = 0; link < nvml::kMostNvLinks; ++link) {
    const auto up = library.IsNvLinkUp(gpu, link);
    if (!up && !IsUntold(up.error())) return tl::unexpected(up.error());
    if (!up) break;  // the GPU has no more links
    if (*up) condition.links_up |= uint64_t{1} << link;
  }
  return condition;
}

std::optional<Evidence> TroubleOf(const Condition& before, const Condition& now) {
  if (now.remap_failed) {
    return NeedsReset("a row of its memory could not be replaced by a spare; replace the GPU");
  }
  if (now.remap_pending.value_or(false)) {
    return NeedsReset("a row of its memory waits to be replaced by a spare; reset the GPU");
  }
  if (now.retired_pending.value_or(false)) {
    return NeedsReset("a page of its memory waits to be retired; reset the GPU");
  }
  if (before.ecc_errors && now.ecc_errors > before.ecc_errors) {
    return NeedsReset(
        fmt::format("its memory has {} errors that ECC cannot correct, up from {}; reset the GPU",
                    *now.ecc_errors, *before.ecc_errors));
  }
  if (const uint64_t down = before.links_up & ~now.links_up; down != 0) {
    return Evidence{.kind = EvidenceKind::kBad,
                    .source = EvidenceSource::kCheck,
                    .reason = Reason::kCheckFailed,
                    .detail = LinksText(down)};
  }
  return std::nullopt;
}

Condition Remembered(const Condition& before, Condition now) {
  if (!now.ecc_errors) now.ecc_errors = before.ecc_errors;
  if (!now.remap_pending) now.remap_pending = before.remap_pending;
  if (!now.retired_pending) now.retired_pending = before.retired_pending;
  now.links_up |= before.links_up;
  return now;
}

bool ShowsReset(const Condition& before, const Condition& now) {
  return (now.ecc_errors && before.ecc_errors && *now.ecc_errors < *before.ecc_errors) ||
         Ended(before.remap_pending, now.remap_pending) ||
         Ended(before.retired_pending, now.retired_pending);
}

std::string SlowdownText(uint64_t slowdowns) {
  std::string text = (slowdowns & kHeat) != 0 ? "heat" : "";
  if ((slowdowns & nvml::kHardwarePowerBrake) == 0) return text;
  return text + (text.empty() ? "" : ", ") + "power brake";
}

}  // namespace tessera::nvidia
