// SPDX-License-Identifier: Apache-2.0
#include "placement/capacity.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "share/share.h"

namespace tessera {

void UsedCapacity::AddShares(const std::string& pod, const std::vector<std::string>& ids,
                             const std::vector<std::string>& all, std::span<const Fraction> parts) {
  for (const Fraction& part : parts) {
    const auto is_its = [&](const std::string& id) { return DeviceOfShare(id) == part.device; };
    const auto count = static_cast<double>(std::ranges::count_if(all, is_its));
    for (const std::string& id : ids) {
      if (!is_its(id)) continue;
      const auto [found, is_new] = shares_.try_emplace({pod, id}, Worth{.device = part.device});
      Worth& share = found->second;
      Worth& sum = sums_.try_emplace(part.device, Worth{.shares = 0}).first->second;
      const double memory = std::max(share.memory, static_cast<double>(part.memory) / count);
      const double cores = std::max(share.cores, part.cores / count);
      sum.memory += memory - std::exchange(share.memory, memory);
      sum.cores += cores - std::exchange(share.cores, cores);
      sum.shares += is_new ? 1 : 0;
    }
  }
}

void UsedCapacity::AddPod(const std::string& pod, const std::string& resource,
                          UsageByDevice usage) {
  for (const auto& [device, more] : usage) whole_[device] += more;
  pods_.try_emplace({pod, resource}, std::move(usage));
}

void UsedCapacity::AddUnknown(const std::string& device, std::string why) {
  unknown_.try_emplace(device, std::move(why));
}

const std::string* UsedCapacity::WhyUnknown(const std::string& device) const {
  const auto found = unknown_.find(device);
  return found == unknown_.end() ? nullptr : &found->second;
}

UsageByDevice UsedCapacity::Beside(const std::string& pod, const std::vector<std::string>& ids,
                                   const std::string& resource) const {
  UsageByDevice beside = whole_;
  if (const auto own = pods_.find({pod, resource}); own != pods_.end()) {
    for (const auto& [device, less] : own->second) {
      DeviceUsage& rest = beside[device];
      rest = {rest.containers - less.containers, rest.memory - less.memory,
              rest.cores - less.cores};
    }
  }
  std::map<std::string, Worth> sums = sums_;
  for (const std::string& id : ids) {
    const auto share = shares_.find({pod, id});
    if (share == shares_.end()) continue;
    Worth& sum = sums[share->second.device];
    sum.memory -= share->second.memory;
    sum.cores -= share->second.cores;
    --sum.shares;
  }
  for (const auto& [device, sum] : sums) {
    DeviceUsage& rest = beside[device];
    rest = {rest.containers + sum.shares, rest.memory + std::llround(sum.memory),
            rest.cores + std::llround(sum.cores)};
  }
  return beside;
}

UsageByDevice UsageOf(std::span<const Fraction> parts) {
  UsageByDevice usage;
  for (const Fraction& part : parts) usage[part.device] += {1, part.memory, part.cores};
  return usage;
}

Status CheckCapacity(const std::string& resource, std::span<const DeviceCapacity> capacities,
                     const UsageByDevice& taken, const UsageByDevice& more, bool asked) {
  for (const auto& [device, wanted] : more) {
    const auto capacity = std::ranges::find(capacities, device, &DeviceCapacity::device);
    if (capacity == capacities.end()) continue;  // the check of the device itself reports that
    const auto found = taken.find(device);
    const DeviceUsage held = found == taken.end() ? DeviceUsage() : found->second;
    if (asked && capacity->memory == 0) {
      return Fail(Reason::kUnreadable,
                  "{}: the driver does not report the memory of device {}, so it is unknown "
                  "whether {} MiB are left",
                  resource, device, wanted.memory);
    }
    const bool fits = capacity->memory == 0 || held.memory + wanted.memory <= capacity->memory;
    const bool has_slots = !asked || held.containers + wanted.containers <= capacity->containers;
    if (fits && has_slots && held.cores + wanted.cores <= capacity->cores) continue;
    const std::string of_time = capacity->has_units
                                    ? fmt::format("of its {} compute units", capacity->cores)
                                    : "percent of its compute time";
    return Fail(Reason::kNoRoom,
                "{}: device {} has {} MiB; {} MiB and {} {} are taken{}, and {} MiB and {} {} more "
                "do not fit",
                resource, device, capacity->memory, held.memory, held.cores, of_time,
                has_slots
                    ? ""
                    : fmt::format(" by {} of {} containers", held.containers, capacity->containers),
                wanted.memory, wanted.cores, capacity->has_units ? "units" : "percent");
  }
  return {};
}

}  // namespace tessera
