// SPDX-License-Identifier: Apache-2.0
#include "placement/device_choice.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/characters.h"
#include "grant/fraction.h"

namespace tessera {
namespace {

using Kind = kube::Container::Kind;

// In the order in which devices are looked at: the last that a device comes to is what it lacks.
enum class Lack : uint8_t { kHealth, kCordon, kType, kId, kSlots, kMemory, kCores, kNothing };

constexpr std::array kTexts = {
    Misfit{"no healthy device is left", false},
    Misfit{"the devices that it could have are cordoned", false},
    Misfit{"no device is of a type that the pod wants", false},
    Misfit{"no device is one that the pod wants by its id", false},
    Misfit{"as many containers as devices may have are on them already", true},
    Misfit{"devices have too little memory left", true},
    Misfit{"devices have too little compute time left", true},
};
constexpr Misfit kTooFew{"the node has fewer devices than a container asks for", false};

bool IsAnyIn(const std::vector<std::string>& parts, std::string_view text) {
  return std::ranges::any_of(parts, [&](std::string_view part) {
    return !std::ranges::search(text, part, {}, ToLower, ToLower).empty();
  });
}

bool IsOneOf(const std::vector<std::string>& ids, const std::string& id) {
  return std::ranges::find(ids, id) != ids.end();
}

// Who asks for all of the time shares with nobody, and nobody shares with him.
bool HasCores(const DeviceCapacity& capacity, const DeviceUsage& used, int32_t cores) {
  if (cores >= capacity.cores && used.containers > 0) return false;
  return cores == 0 ? used.cores < capacity.cores : used.cores + cores <= capacity.cores;
}

// One node's devices as the containers of one pod take them, one after the other.
class Chooser {
 public:
  Chooser(const DeviceDemand& demand, std::span<const CandidateDevice> devices)
      : demand_(demand), devices_(devices) {}

  tl::expected<std::vector<Fraction>, Misfit> Choose(Kind kind, const Request& request) {
    Lack last{};
    std::vector<size_t> fit;
    for (size_t i = 0; i < devices_.size(); ++i) {
      const Lack lack = LackOf(i, kind, request);
      if (lack == Lack::kNothing) {
        fit.push_back(i);
      } else {
        last = std::max(last, lack);
      }
    }
    const auto count = static_cast<size_t>(request.count);
    if (fit.size() < count) {
      if (devices_.size() < count) return tl::unexpected(kTooFew);
      return tl::unexpected(kTexts[static_cast<size_t>(last)]);
    }
    std::ranges::sort(fit, [&](size_t a, size_t b) { return GoesBefore(a, b, kind); });
    fit.resize(count);
    std::vector<Fraction> parts;
    for (const size_t i : fit) {
      const DeviceCapacity& capacity = devices_[i].capacity;
      parts.push_back({capacity.device, request.MemoryOn(capacity.memory), request.cores});
    }
    Take(kind, parts);
    return parts;
  }

 private:
  // What of the pod's own containers are there beside one of this kind.
  const UsageByDevice& Own(Kind kind) const { return kind == Kind::kInit ? sidecars_ : lasting_; }

  DeviceUsage UsedOf(size_t i, Kind kind) const {
    DeviceUsage used = devices_[i].used;
    const auto own = Own(kind).find(devices_[i].capacity.device);
    return own == Own(kind).end() ? used : used += own->second;
  }

  Lack LackOf(size_t i, Kind kind, const Request& request) const {
    const CandidateDevice& device = devices_[i];
    const DeviceCapacity& capacity = device.capacity;
    const DeviceSelector& selector = demand_.selector;
    if (!device.healthy) return Lack::kHealth;
    if (device.cordoned) return Lack::kCordon;
    if (!selector.types.empty() && !IsAnyIn(selector.types, device.type)) return Lack::kType;
    if (IsAnyIn(selector.no_types, device.type)) return Lack::kType;
    if (!selector.ids.empty() && !IsOneOf(selector.ids, capacity.device)) return Lack::kId;
    if (IsOneOf(selector.no_ids, capacity.device)) return Lack::kId;
    const DeviceUsage used = UsedOf(i, kind);
    if (used.containers >= capacity.containers) return Lack::kSlots;
    const int64_t memory = request.MemoryOn(capacity.memory);
    if (memory <= 0 || used.memory + memory > capacity.memory) return Lack::kMemory;
    return HasCores(capacity, used, request.cores) ? Lack::kNothing : Lack::kCores;
  }

  double FullnessOf(size_t i, Kind kind) const {
    return tessera::FullnessOf(UsedOf(i, kind), AllOf(devices_[i].capacity));
  }

  bool GoesBefore(size_t a, size_t b, Kind kind) const {
    const double fullness[] = {FullnessOf(a, kind), FullnessOf(b, kind)};
    if (fullness[0] != fullness[1]) {
      return demand_.policy == DevicePolicy::kBinpack ? fullness[0] > fullness[1]
                                                      : fullness[0] < fullness[1];
    }
    if (devices_[a].numa != devices_[b].numa) return devices_[a].numa > devices_[b].numa;
    return a > b;
  }

  void Take(Kind kind, const std::vector<Fraction>& parts) {
    if (kind == Kind::kInit) return;
    for (const auto& [device, usage] : UsageOf(parts)) {
      lasting_[device] += usage;
      if (kind == Kind::kSidecar) sidecars_[device] += usage;
    }
  }

  const DeviceDemand& demand_;
  std::span<const CandidateDevice> devices_;
  UsageByDevice sidecars_;  // so far
  UsageByDevice lasting_;   // sidecars and app containers
};

}  // namespace

double FullnessOf(const DeviceUsage& used, const DeviceUsage& all) {
  const auto part = [](int64_t of, int64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(of) / static_cast<double>(whole);
  };
  return part(used.containers, all.containers) + part(used.cores, all.cores) +
         part(used.memory, all.memory);
}

DeviceUsage AllOf(const DeviceCapacity& capacity) {
  return {capacity.containers, capacity.memory, capacity.cores};
}

Result<std::vector<AskingContainer>> AskingContainersOf(const kube::Pod& pod,
                                                        const RequestRules& rules) {
  std::vector<AskingContainer> asking;
  for (const kube::Container& container : pod.containers) {
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
    auto parts = chooser.Choose(container.kind, container.request);
    if (!parts) return tl::unexpected(parts.error());
    placement.push_back({container.name, container.kind, *std::move(parts)});
  }
  return placement;
}

}  // namespace tessera
