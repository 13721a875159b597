// SPDX-License-Identifier: Apache-2.0
#include "hami/node_devices.h"

#include <algorithm>
#include <string>
#include <utility>

#include "hami/link_scores.h"
#include "hami/mig_slices.h"
#include "hami/names.h"
#include "hami/node_register.h"

namespace tessera::hami {
namespace {

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
    // Without sizes there is nothing to be had of it, not shares of any size.
    if (candidate.profiles.empty()) candidate.profiles.emplace_back();
  }
  return candidate;
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
  for (RegisteredDevice& device : TRY(DecodeRegister(registered->second, vendor))) {
    devices.push_back(CandidateOf(std::move(device)));
  }
  const auto scores = annotations.find(vendor.node_score);
  if (scores != annotations.end()) AddCloseness(scores->second, vendor, devices);
  return devices;
}

}  // namespace tessera::hami
