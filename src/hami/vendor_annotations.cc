// SPDX-License-Identifier: Apache-2.0
#include "hami/vendor_annotations.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "hami/mig_slices.h"
#include "hami/names.h"
#include "hami/pod_devices.h"
#include "hami/pod_placement.h"
#include "json/json.h"

namespace tessera::hami {
namespace {

// [{"UUID":"...","temp":"vir05_1c_16g"}], without a template for a whole device. In kModeCore it
// has the sizes instead.
std::string DevicesJson(const PodPlacement& placement, const ServedVendor& served,
                        std::string_view mode) {
  json::Array list;
  for (const PlacedContainer& container : placement) {
    for (const Fraction& part : container.parts) {
      json::Object device{{"UUID", part.device}};
      const auto found = std::ranges::find(served.templates, part.memory, &ChipTemplate::memory);
      if (mode == kModeCore) {
        device["memory"] = part.memory;
        device["core"] = part.cores;
      } else if (found != served.templates.end()) {
        device["temp"] = found->name;
      }
      list.push_back(std::move(device));
    }
  }
  return json::Write(list);
}

}  // namespace

kube::Texts PlacementAnnotations(const PodPlacement& placement, const ServedVendor& served,
                                 std::string_view mode, const std::string& node, FoundBy found_by,
                                 Wall now) {
  const Vendor& vendor = *served.vendor;
  std::vector<Entry> entries;
  for (const PlacedContainer& container : placement) {
    entries.push_back(EntryOf(container.parts, vendor));
  }
  const std::string allocated = EncodePodDevices(entries);
  const std::string slices = EncodeMigAllocations(MigAllocationsOf(placement));
  const std::string seconds = std::to_string(
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count());
  kube::Texts annotations;
  const auto set = [&](std::string_view key, std::string_view value) {
    if (!key.empty()) annotations.insert_or_assign(std::string(key), std::string(value));
  };
  set(vendor.pod_allocated, allocated);
  if (!slices.empty()) set(kPodMigAllocations, slices);
  if (!vendor.pod_devices_json.empty()) {
    set(vendor.pod_devices_json, DevicesJson(placement, served, mode));
  }
  set(vendor.pod_time, seconds);
  set(kPodNode, node);
  set(kPodTime, seconds);
  set(kPodBindTime, seconds);
  if (found_by == FoundBy::kAgent) return annotations;
  set(vendor.pod_to_allocate, allocated);
  set(kPodBindPhase, kPhaseAllocating);
  return annotations;
}

}  // namespace tessera::hami
