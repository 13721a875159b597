// SPDX-License-Identifier: Apache-2.0
#include "fraction/grant_times.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "fraction/region_words.h"
#include "limiter/contract.h"

namespace tessera {
namespace {

using limiter::Region;
using limiter::TimeAccounting;

constexpr uint64_t kIdle = 2'000'000'000;  // ns without use by a container
constexpr uint64_t kSecond = 1'000'000'000;
// A kernel is charged at its launch or measurement, for its whole run. A greater change in one look
// is not credible.
constexpr uint64_t kMostAtOnce = 2'000'000'000;  // ns

// Calls visit(offset, shown) with the displayed use of a device, for each slot that has some.
template <class Visit>
void VisitShown(const FollowedRegion& file, size_t place, Visit visit) {
  uint32_t slots = 0;
  if (!file.Read(offsetof(Region, accounting.slots_used), slots)) return;
  slots = std::min<uint32_t>(slots, limiter::kMaxSlots);
  for (size_t slot = 0; slot < slots; ++slot) {
    const size_t at = offsetof(Region, hami.slots) + slot * sizeof(limiter::HamiSlot) +
                      offsetof(limiter::HamiSlot, utilization) +
                      place * sizeof(limiter::HamiUtilization);
    limiter::HamiUtilization shown{};
    if (file.Read(at, shown) && shown.sm != 0) visit(at, shown);
  }
}

// Resets the displayed use of processes that stopped launching: they do not do it themselves.
void ShowIdle(const FollowedRegion& file, size_t place) {
  VisitShown(file, place, [&](size_t at, const limiter::HamiUtilization&) {
    file.Write(at + offsetof(limiter::HamiUtilization, sm), uint64_t{0});
  });
}

// The displayed use in percent, from recent entries only.
uint64_t ShownOf(const FollowedRegion& file, size_t place, uint64_t now) {
  uint64_t sum = 0;
  VisitShown(file, place, [&](size_t, const limiter::HamiUtilization& shown) {
    if (shown.sm_at <= now && now - shown.sm_at < kIdle) sum += std::min<uint64_t>(shown.sm, 100);
  });
  return std::min<uint64_t>(sum, 100);
}

bool IsLately(uint64_t at, uint64_t now) {
  return at != 0 && now - at < kIdle;
}

}  // namespace

void GrantTimes::Add(const std::string& grant, const std::string& directory,
                     const std::string& file, const std::vector<std::string>& devices) {
  if (regions_.contains(grant)) return;
  TrackedRegion region{.file = FollowedRegion::Open(directory, file, visits_), .devices = {}};
  if (!region.file.valid()) return LeaveOut(grant, devices);
  unknown_.erase(grant);
  for (size_t place = 0; place < devices.size() && place < limiter::kMaxDevices; ++place) {
    TimeAccounting accounting{};
    (void)region.file.Read(TimesAt(place), accounting);
    region.devices.push_back(
        {.uuid = devices[place], .used = accounting.used, .others = accounting.others});
  }
  regions_.emplace(grant, std::move(region));
}

void GrantTimes::LeaveOut(const std::string& grant, const std::vector<std::string>& devices) {
  regions_.erase(grant);
  unknown_[grant] = devices;
}

void GrantTimes::Remove(const std::string& grant) {
  regions_.erase(grant);
  unknown_.erase(grant);
}

// Corrections may lower the charged time: it counts again once it exceeds its former value. If a
// container is charged nothing for a while, for example without a time limit, its processes'
// displayed use counts instead. That is an estimate, which includes waits for other processes, and
// is written once a second.
uint64_t GrantTimes::ReadLatest(const FollowedRegion& file, size_t place, Device& device,
                                uint64_t now, uint64_t passed) {
  uint64_t used = 0;
  if (!file.Read(TimesAt(place) + offsetof(TimeAccounting, used), used)) return 0;
  const auto more = static_cast<int64_t>(used - device.used);
  // A greater fall means another region or corrupt words.
  if (more > 0 || more < -static_cast<int64_t>(kMostAtOnce)) device.used = used;
  if (more > 0) {
    device.charged_at = now;
    return std::min(static_cast<uint64_t>(more), kMostAtOnce + passed);
  }
  if (IsLately(device.charged_at, now)) return 0;
  if (now - device.looked_at >= kSecond) {
    device.looked_at = now;
    device.shown = ShownOf(file, place, now);
  }
  return passed * device.shown / 100;
}

void GrantTimes::ReadRegion(TrackedRegion& region, uint64_t now, uint64_t passed) {
  for (size_t place = 0; place < region.devices.size(); ++place) {
    Device& device = region.devices[place];
    device.latest = ReadLatest(region.file, place, device, now, passed);
    if (device.latest > 0) {
      device.active = now;
      device.is_shown = true;
    } else if (device.is_shown && device.shown == 0 && now - device.active > kIdle) {
      ShowIdle(region.file, place);
      device.is_shown = false;
    }
  }
}

Duration GrantTimes::UpdateRegions(uint64_t now) {
  constexpr auto kEvery = static_cast<uint64_t>(std::chrono::nanoseconds(kShared).count());
  if (told_at_ == 0 || now - told_at_ >= kEvery) TellOthers(now);
  if (!is_any_shared_ && !calibrations_.is_busy()) return kAlone;
  return std::min(kShared, calibrations_.Step(now, Gpus(now)));
}

std::set<std::string> GrantTimes::UnknownGpus() const {
  std::set<std::string> gpus;
  for (const auto& [grant, uuids] : unknown_) gpus.insert(uuids.begin(), uuids.end());
  return gpus;
}

// Leaves out GPUs on which no container can be held.
Calibrations::Gpus GrantTimes::Gpus(uint64_t now) const {
  const std::set<std::string> unknown = UnknownGpus();
  Calibrations::Gpus gpus;
  for (const auto& [grant, region] : regions_) {
    for (size_t place = 0; place < region.devices.size(); ++place) {
      const Device& device = region.devices[place];
      if (unknown.contains(device.uuid)) continue;
      gpus[device.uuid].push_back({.grant = grant,
                                   .region = &region.file,
                                   .place = place,
                                   .is_active = IsLately(device.active, now),
                                   .is_measured = IsLately(device.charged_at, now)});
    }
  }
  return gpus;
}

// The container has removed the file, or kubelet its directory. No other check can cut it back, so
// it is closed.
void GrantTimes::LetGoOfWaste(uint64_t now) {
  if (now - checked_at_ < kSecond) return;
  checked_at_ = now;
  std::erase_if(regions_, [this](const auto& one) {
    if (!one.second.file.IsWaste()) return false;
    std::vector<std::string>& devices = unknown_[one.first];
    for (const Device& device : one.second.devices) devices.push_back(device.uuid);
    return true;
  });
}

void GrantTimes::TellOthers(uint64_t now) {
  LetGoOfWaste(now);
  const uint64_t passed = told_at_ == 0 ? 0 : now - told_at_;
  told_at_ = now;
  std::map<std::string, uint64_t> sums;
  std::map<std::string, int> active;
  for (auto& [grant, region] : regions_) {
    ReadRegion(region, now, passed);
    for (const Device& device : region.devices) {
      sums[device.uuid] += device.latest;
      if (IsLately(device.active, now)) ++active[device.uuid];
    }
  }
  const std::set<std::string> unknown = UnknownGpus();
  is_any_shared_ = false;
  for (auto& [grant, region] : regions_) {
    for (size_t place = 0; place < region.devices.size(); ++place) {
      Device& device = region.devices[place];
      device.others += sums[device.uuid] - device.latest;
      // A container without launches needs no answer.
      if (!IsLately(device.active, now)) continue;
      const bool is_known = !unknown.contains(device.uuid);
      is_any_shared_ = is_any_shared_ || (is_known && active[device.uuid] > 1);
      const uint64_t word[2] = {device.others, is_known ? now : 0};
      region.file.Write(TimesAt(place) + offsetof(TimeAccounting, others), word);
    }
  }
}

}  // namespace tessera
