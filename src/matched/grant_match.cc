// SPDX-License-Identifier: Apache-2.0
#include "matched/grant_match.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/quote.h"
#include "grant/fraction.h"
#include "limiter/contract.h"

namespace tessera {
namespace {

constexpr char kPreload[] = "/etc/ld.so.preload";
constexpr char kLibrary[] = "/libvgpu.so";

std::string Said(const Grant& answer, const char* key) {
  const auto found = answer.annotations.find(key);
  return found == answer.annotations.end() ? "" : found->second;
}

// True if the answer loads the configured library, that library is Tessera's own, and the answer
// mounts the directory of its limits file.
bool GoesByLimitsFile(const Grant& answer, const FractionRules& fractions,
                      const BindingRecord& record) {
  const std::string_view limits = limiter::kLimitsPath;
  bool has_library = false, has_limits = false, has_preload = false;
  for (const Mount& mount : answer.mounts) {
    has_preload |= mount.container_path == kPreload;
    has_limits |= mount.container_path == limits.substr(0, limits.rfind('/'));
    has_library |= mount.container_path.ends_with(kLibrary) && mount.host_path == fractions.library;
  }
  return fractions.own_library && record.controlled && has_library && has_limits && has_preload;
}

std::set<std::string> DevicesOf(const std::vector<Fraction>& parts) {
  std::set<std::string> devices;
  for (const Fraction& part : parts) devices.insert(part.device);
  return devices;
}

// The runtime gives the container the answer's GPUs, so these must be the record's.
bool IsOfSameDevices(const std::string& said, const std::vector<Fraction>& parts) {
  const auto read = ReadParts(said);
  return read && DevicesOf(*read) == DevicesOf(parts);
}

}  // namespace

Status CheckOwner(const HeldGrant& held) {
  if (!held.matched) return {};
  const std::string pod = Said(held.answer, kPodAnnotation);
  const std::string container = Said(held.answer, kContainerAnnotation);
  if (pod == held.pod_uid && container == held.container) return {};
  return Fail(Reason::kWrongMatch,
              "{}: kubelet gave container {} of pod {} the grant of container {} of pod {}",
              held.resource, held.container, held.pod_uid, Brief(container), Brief(pod));
}

Status CheckMatch(const Grant& answer, const Offer& offer, const FractionRules& fractions,
                  const BindingRecord& record) {
  std::vector<Fraction> parts = record.parts;
  SortAsContainersSee(offer, parts);
  const std::string own = PartsText(parts);
  const std::string said = Said(answer, kPartsAnnotation);
  const bool sizes_may_differ =
      GoesByLimitsFile(answer, fractions, record) && IsOfSameDevices(said, parts);
  if (said != own && !sizes_may_differ) {
    return Fail(Reason::kWrongMatch,
                "{}: container {} of pod {} was granted {}, but now {} is chosen for it",
                record.resource, record.container, record.pod_uid, Brief(said), own);
  }
  const auto has = [&](auto Mount::* path, std::string_view value) {
    return std::ranges::count(answer.mounts, value, path) > 0;
  };
  if (!has(&Mount::host_path, record.directory)) {
    return Fail(Reason::kWrongMatch,
                "{}: container {} of pod {} was granted another directory than {}", record.resource,
                record.container, record.pod_uid, record.directory);
  }
  const bool library = std::ranges::any_of(
      answer.mounts, [](const Mount& mount) { return mount.container_path.ends_with(kLibrary); });
  if (!library || has(&Mount::container_path, kPreload) == record.controlled) return {};
  return Fail(
      Reason::kWrongMatch,
      "{}: container {} of pod {} was granted {} the limiting library, which no longer applies",
      record.resource, record.container, record.pod_uid, record.controlled ? "without" : "with");
}

}  // namespace tessera
