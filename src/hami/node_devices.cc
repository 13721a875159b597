// SPDX-License-Identifier: Apache-2.0
#include "hami/node_devices.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "hami/link_scores.h"
#include "hami/mig_slices.h"
#include "hami/names.h"
#include "hami/node_register.h"

namespace tessera::hami {
namespace {

// The number of each device's group; -1: none.
std::vector<int32_t> GroupsOf(std::span<const RegisteredDevice> devices, const Vendor& vendor) {
  std::map<std::string_view, int32_t> numbers;
  std::vector<int32_t> groups;
  for (const RegisteredDevice& device : devices) {
    const auto named = device.custom.find(vendor.group_key);
    const auto condition = device.custom.find(vendor.group_if_key);
    const bool counts = vendor.group_if_key.empty() || (condition != device.custom.end() &&
                                                        condition->second == vendor.group_if_value);
    int32_t group = -1;
    if (vendor.together == Together::kPairs) {
      group = static_cast<int32_t>(device.index / 2);
    } else if (!vendor.group_key.empty() && counts) {
      const std::string_view name =
          named == device.custom.end() ? std::string_view() : std::string_view(named->second);
      group = numbers.emplace(name, static_cast<int32_t>(numbers.size())).first->second;
    }
    groups.push_back(group);
  }
  return groups;
}

CandidateDevice CandidateOf(RegisteredDevice device) {
  CandidateDevice candidate{.capacity = {.device = std::move(device.id),
                                         .containers = device.count,
                                         .memory = device.devmem,
                                         .cores = device.devcore},
                            .type = std::move(device.type),
                            .mode = std::move(device.mode),
                            .index = device.index,
                            .numa = device.numa,
                            .healthy = device.health};
  if (candidate.mode == kModeMig) {
    candidate.profiles = SliceProfilesOf(device.mig_profiles);
    // A device without sizes offers nothing. Without this entry it would offer any size.
    if (candidate.profiles.empty()) candidate.profiles.emplace_back();
  }
  return candidate;
}

// Devices of one group are closer to each other than to other devices.
void AddGroupCloseness(std::vector<CandidateDevice>& devices) {
  for (CandidateDevice& device : devices) {
    for (const CandidateDevice& other : devices) {
      device.closeness.push_back(device.group == other.group ? 1 : 0);
    }
  }
}

void AddCloseness(std::string_view text, const Vendor& vendor,
                  std::vector<CandidateDevice>& devices) {
  const auto scores = DecodeScores(text, vendor);
  if (!scores) return;
  for (CandidateDevice& device : devices) {
    const auto own = std::ranges::find(*scores, device.capacity.device, &DeviceScores::uuid);
    if (own == scores->end()) continue;
    for (const CandidateDevice& other : devices) {
      const auto points = own->scores.find(other.capacity.device);
      device.closeness.push_back(points == own->scores.end() ? 0 : points->second);
    }
  }
}

}  // namespace

Result<std::vector<CandidateDevice>> NodeDevicesOf(const kube::Texts& annotations,
                                                   const Vendor& vendor) {
  std::vector<CandidateDevice> devices;
  const auto registered = annotations.find(vendor.node_register);
  if (registered == annotations.end()) return devices;
  const bool json = vendor.node_register_format == Vendor::Register::kJson;
  auto read = json ? TRY(DecodeRegister(registered->second, vendor))
                   : TRY(DecodeOldRegister(registered->second, vendor));
  const std::vector<int32_t> groups = GroupsOf(read, vendor);
  for (size_t i = 0; i < read.size(); ++i) {
    devices.push_back(CandidateOf(std::move(read[i])));
    devices.back().group = groups[i];
  }
  if (!vendor.node_mode.empty()) {
    const auto mode = annotations.find(vendor.node_mode);
    const bool core = mode != annotations.end() && mode->second == "true";
    for (CandidateDevice& device : devices) device.mode = core ? kModeCore : kModeTemplate;
  }
  if (vendor.several_closest) AddGroupCloseness(devices);
  const auto scores = annotations.find(vendor.node_score);
  if (scores != annotations.end()) AddCloseness(scores->second, vendor, devices);
  return devices;
}

}  // namespace tessera::hami
