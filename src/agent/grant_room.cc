// SPDX-License-Identifier: Apache-2.0
#include "agent/grant_room.h"

#include <algorithm>
#include <cmath>

#include "share/share.h"

namespace tessera::agent {

void Taken::AddShares(const std::string& pod, const std::vector<std::string>& ids,
                      std::span<const VgpuPart> parts) {
  for (const VgpuPart& part : parts) {
    const auto is_its = [&](const std::string& id) { return DeviceOfShare(id) == part.device; };
    const auto count = static_cast<double>(std::ranges::count_if(ids, is_its));
    for (const std::string& id : ids) {
      if (!is_its(id)) continue;
      Worth& share = shares_[{pod, id}];
      share = {part.device, std::max(share.memory, static_cast<double>(part.memory) / count),
               std::max(share.cores, part.cores / count)};
    }
  }
}

void Taken::RemoveShare(const std::string& pod, const std::string& id) {
  shares_.erase({pod, id});
}

void Taken::Add(const UsageByDevice& usage) {
  for (const auto& [device, more] : usage) {
    hami::CardUsage& card = whole_[device];
    card = {card.slots + more.slots, card.memory + more.memory, card.cores + more.cores};
  }
}

UsageByDevice Taken::Sum() const {
  UsageByDevice sum = whole_;
  std::map<std::string, Worth> devices;
  for (const auto& [share, worth] : shares_) {
    Worth& device = devices[worth.device];
    device.memory += worth.memory;
    device.cores += worth.cores;
    ++sum[worth.device].slots;
  }
  for (const auto& [device, worth] : devices) {
    sum[device].memory += std::llround(worth.memory);
    sum[device].cores += std::llround(worth.cores);
  }
  return sum;
}

UsageByDevice UsageOf(std::span<const VgpuPart> parts) {
  UsageByDevice usage;
  for (const VgpuPart& part : parts) {
    hami::CardUsage& card = usage[part.device];
    card = {card.slots + 1, card.memory + part.memory, card.cores + part.cores};
  }
  return usage;
}

Status CheckRoom(const std::string& resource, std::span<const hami::RegisteredDevice> cards,
                 const UsageByDevice& taken, const UsageByDevice& more, bool slots) {
  for (const auto& [device, wanted] : more) {
    const auto card = std::ranges::find(cards, device, &hami::RegisteredDevice::id);
    if (card == cards.end()) continue;  // who looks at the device itself says that
    const auto found = taken.find(device);
    const hami::CardUsage held = found == taken.end() ? hami::CardUsage() : found->second;
    const bool fits = card->devmem == 0 || held.memory + wanted.memory <= card->devmem;
    const bool has_slots = !slots || held.slots + wanted.slots <= card->count;
    if (fits && has_slots && held.cores + wanted.cores <= card->devcore) continue;
    return Fail(Reason::kNoRoom,
                "{}: device {} has {} MiB, of which {} MiB and {} percent of its compute time are "
                "taken{}: {} MiB and {} percent more do not fit",
                resource, device, card->devmem, held.memory, held.cores,
                has_slots ? "" : fmt::format(" by {} of {} containers", held.slots, card->count),
                wanted.memory, wanted.cores);
  }
  return {};
}

}  // namespace tessera::agent
