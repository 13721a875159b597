// SPDX-License-Identifier: Apache-2.0
#include "placement/device_choice.h"

#include <algorithm>
#include <utility>

#include "base/characters.h"
#include "grant/fraction.h"
#include "placement/request_check.h"

namespace tessera {
namespace {

using Kind = kube::Container::Kind;
using Roomy = std::vector<RoomyDevice>;

bool IsIn(std::string_view text, std::string_view part) {
  return !std::ranges::search(text, part, {}, ToLower, ToLower).empty();
}

bool IsAnyIn(const std::vector<std::string>& parts, std::string_view text) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return IsIn(text, part); });
}

bool IsOneOf(const std::vector<std::string>& ids, const std::string& id) {
  return std::ranges::find(ids, id) != ids.end();
}

// The lack that the device has whatever its usage.
Lack LackOf(const CandidateDevice& device, const DeviceSelector& selector) {
  const std::string& id = device.capacity.device;
  if (!device.healthy) return Lack::kHealth;
  if (device.cordoned) return Lack::kCordon;
  if (!selector.family.empty() && !IsIn(device.type, selector.family)) return Lack::kType;
  if (!selector.types.empty() && !IsAnyIn(selector.types, device.type)) return Lack::kType;
  if (IsAnyIn(selector.no_types, device.type)) return Lack::kType;
  const bool divided =
      selector.modes.empty() || selector.modes.find(device.mode) != std::string::npos;
  if (!divided) return Lack::kMode;
  if (!selector.ids.empty() && !IsOneOf(selector.ids, id)) return Lack::kId;
  return IsOneOf(selector.no_ids, id) ? Lack::kId : Lack::kNothing;
}

// The requested compute time in the unit of the device's capacity.
int32_t CoresOn(const DeviceCapacity& capacity, const Request& request,
                const SharingTraits& traits) {
  return traits.core_units ? UnitsOf(request, capacity.cores) : request.cores;
}

// A container that requests all compute time is alone on its device.
Lack LackOf(const DeviceCapacity& capacity, const DeviceUsage& used, const Request& request,
            const SharingTraits& traits, bool alone) {
  const int64_t memory = request.MemoryOn(capacity.memory);
  const int64_t cores = CoresOn(capacity, request, traits);
  const bool sized = request.HasSize();
  if (sized && (memory <= 0 || memory > capacity.memory)) return Lack::kSize;
  if (cores > capacity.cores) return Lack::kSize;
  const bool part = memory < capacity.memory || (cores > 0 && cores < capacity.cores);
  if (traits.several_whole && request.count > 1 && part) return Lack::kParts;
  if (used.containers >= capacity.containers) return Lack::kContainers;
  const bool all = request.cores == kAllCores && capacity.cores == kAllCores;
  if ((alone || all) && used.containers > 0) return Lack::kAlone;
  if (traits.equal_parts && used.memory != used.containers * memory) return Lack::kEqualParts;
  if (used.memory + memory > capacity.memory) return Lack::kMemory;
  if (used.cores + cores > capacity.cores) return Lack::kCores;
  const bool full = capacity.cores > 0 && used.cores >= capacity.cores;
  return full && request.cores == 0 ? Lack::kCores : Lack::kNothing;
}

// The number of free slices of the device, up to `most`.
size_t SlicesFor(const CandidateDevice& device, uint64_t taken, int64_t memory, size_t most) {
  size_t slices = 0;
  while (slices < most) {
    const auto slice = SmallestSlice(device.profiles, taken, memory);
    if (!slice) break;
    taken |= BitsOf(slice->range);
    ++slices;
  }
  return slices;
}

// Chooses one node's devices for the containers of one pod, one after the other.
class Chooser {
 public:
  Chooser(const DeviceDemand& demand, std::span<const CandidateDevice> devices)
      : demand_(demand), devices_(devices) {
    for (const CandidateDevice& device : devices) {
      selected_.push_back(tessera::LackOf(device, demand.selector));
    }
    for (const AskingContainer& container : demand.containers) {
      searches_ += container.request.count > 1 ? 1 : 0;
    }
  }

  tl::expected<PlacedContainer, Misfit> Choose(const AskingContainer& container) {
    const auto count = static_cast<size_t>(container.request.count);
    lacks_.clear();
    groups_.clear();
    Roomy roomy;
    for (size_t i = 0; i < devices_.size(); ++i) LookAt(i, container, roomy);
    if (roomy.size() < count) return tl::unexpected(MisfitOf(std::move(lacks_), count));
    const auto picked = PickDevices(demand_.policy, count, std::move(roomy), searches_);
    if (!picked) {
      return tl::unexpected(ApartMisfitOf(lacks_, groups_, count, demand_.policy.together));
    }
    return Take(container, *picked);
  }

 private:
  // Usage by the pod's earlier containers that run together with one of this kind.
  const UsageByDevice& Own(Kind kind) const { return kind == Kind::kInit ? sidecars_ : lasting_; }

  DeviceUsage UsedOf(size_t i, Kind kind) const {
    const std::string& id = devices_[i].capacity.device;
    DeviceUsage used = devices_[i].used;
    if (const auto own = Own(kind).find(id); own != Own(kind).end()) used += own->second;
    if (const auto own = slices_.find(id); own != slices_.end()) used += own->second;
    return used;
  }

  // Records the device's lack, or that it has room.
  void LookAt(size_t i, const AskingContainer& container, Roomy& roomy) {
    const CandidateDevice& device = devices_[i];
    const DeviceUsage used = UsedOf(i, container.kind);
    const Lack lack =
        selected_[i] != Lack::kNothing ? selected_[i] : LackOf(device, used, container.request);
    const int32_t group = GroupOf(device, demand_.policy.together);
    if (lack != Lack::kNothing) return Note(lack, group, 1);
    const RoomyDevice here{i, &device, ScoreOf(used, AllOf(device.capacity), demand_.weights)};
    size_t free = 1;
    if (!device.profiles.empty()) {
      const int64_t memory = container.request.MemoryOn(device.capacity.memory);
      const auto count = static_cast<size_t>(container.request.count);
      free = SlicesFor(device, used.slices, memory, count);
      const size_t most = std::max(free, SlicesFor(device, 0, memory, count));
      Note(Lack::kSlice, group, most - free);
    }
    roomy.insert(roomy.end(), free, here);
    Note(Lack::kNothing, group, free);
  }

  void Note(Lack lack, int32_t group, size_t times) {
    lacks_.insert(lacks_.end(), times, lack);
    groups_.insert(groups_.end(), times, group);
  }

  Lack LackOf(const CandidateDevice& device, const DeviceUsage& used,
              const Request& request) const {
    const int64_t memory = request.MemoryOn(device.capacity.memory);
    if (!device.profiles.empty() && !SmallestSlice(device.profiles, 0, memory)) return Lack::kSize;
    if (device.unclear) return Lack::kUnclear;
    return tessera::LackOf(device.capacity, used, request, demand_.traits, demand_.policy.alone);
  }

  PlacedContainer Take(const AskingContainer& container, const Roomy& picked) {
    PlacedContainer placed{.name = container.name, .kind = container.kind};
    for (const RoomyDevice& one : picked) {
      const DeviceCapacity& capacity = one.device->capacity;
      const int64_t memory = container.request.MemoryOn(capacity.memory);
      placed.parts.push_back(
          {capacity.device, memory, CoresOn(capacity, container.request, demand_.traits)});
      if (one.device->profiles.empty()) continue;
      const uint64_t taken = UsedOf(one.place, container.kind).slices;
      const Slice slice = *SmallestSlice(one.device->profiles, taken, memory);
      slices_[capacity.device].slices |= BitsOf(slice.range);
      placed.parts.back() = {capacity.device, slice.memory, slice.cores};
      placed.slices.push_back({placed.parts.size() - 1, slice.profile, slice.range});
    }
    if (container.kind == Kind::kInit) return placed;
    for (const auto& [device, usage] : UsageOf(placed)) {
      lasting_[device] += usage;
      if (container.kind == Kind::kSidecar) sidecars_[device] += usage;
    }
    return placed;
  }

  const DeviceDemand& demand_;
  std::span<const CandidateDevice> devices_;
  std::vector<Lack> selected_;  // by device: what it lacks for any container
  size_t searches_ = 0;         // containers with several devices
  UsageByDevice sidecars_;      // chosen so far
  UsageByDevice lasting_;       // sidecars and app containers
  // Slices of all containers of the pod. All are made before its first container starts and stay
  // until the pod ends.
  UsageByDevice slices_;
  // For the current container: one entry per device. A device divided in slices has one for each
  // slice that the container could use.
  std::vector<Lack> lacks_;
  std::vector<int32_t> groups_;
};

}  // namespace

Result<std::vector<AskingContainer>> AskingContainersOf(const kube::Pod& pod,
                                                        const RequestRules& rules) {
  std::vector<AskingContainer> asking;
  for (const kube::Container& container : pod.containers) {
    if (AsksForAny(container, rules)) {
      if (const Status meant = CheckRequest(container, rules); !meant) {
        return Fail(Error{Reason::kBadSize, meant.error().message});
      }
    }
    auto request = Resolve(container, rules);
    if (!request) return Fail(Error{Reason::kBadSize, request.error().message});
    if (*request) asking.push_back({container.name, container.kind, **request});
  }
  return asking;
}

tl::expected<PodPlacement, Misfit> ChooseDevices(const DeviceDemand& demand,
                                                 std::span<const CandidateDevice> devices) {
  Chooser chooser(demand, devices);
  PodPlacement placement;
  for (const AskingContainer& container : demand.containers) {
    auto placed = chooser.Choose(container);
    if (!placed) return tl::unexpected(placed.error());
    placement.push_back(*std::move(placed));
  }
  return placement;
}

}  // namespace tessera
