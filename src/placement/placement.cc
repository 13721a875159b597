// SPDX-License-Identifier: Apache-2.0
#include "placement/placement.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "base/quote.h"
#include "hami/names.h"
#include "hami/pod_devices.h"
#include "hami/text_numbers.h"
#include "placement/asked_sizes.h"
#include "share/share.h"

namespace tessera {
namespace {

hami::ContainerKind TypeOf(kube::Container::Kind kind) {
  switch (kind) {
    case kube::Container::Kind::kInit:
      return hami::ContainerKind::kInit;
    case kube::Container::Kind::kSidecar:
      return hami::ContainerKind::kSidecar;
    case kube::Container::Kind::kApp:
      break;
  }
  return hami::ContainerKind::kApp;
}

Error Bad(const kube::Pod& pod, std::string_view container, const Error& why) {
  return {
      Reason::kBadDecision,
      fmt::format("pod {}{}{}: what was chosen for it is not what it asks for: {}", pod.FullName(),
                  container.empty() ? "" : ", container ", container, why.message)};
}

Error Unfit(const kube::Pod& pod, std::string_view container, const Error& why) {
  return {Reason::kBadSize, fmt::format("pod {}, container {}: it cannot have what it asks for: {}",
                                        pod.FullName(), container, why.message)};
}

std::vector<VgpuPart> PartsOf(const hami::Entry& entry) {
  std::vector<VgpuPart> parts;
  for (const hami::PodDevice& device : entry) {
    parts.push_back({.device = device.uuid, .memory = device.memory, .cores = device.cores});
  }
  return parts;
}

// What the container asks for, of each card as often as it has shares of it.
Result<std::vector<VgpuPart>> FitParts(const hami::Request& request,
                                       std::span<const hami::RegisteredDevice> cards,
                                       const std::vector<std::string>& shares) {
  std::map<std::string, VgpuPart> parts;
  for (const std::string& share : shares) {
    const std::string device = DeviceOfShare(share);
    const auto card = std::ranges::find(cards, device, &hami::RegisteredDevice::id);
    if (card == cards.end()) {
      return Fail(Reason::kInvalid, "{} is no card of this node", Brief(device));
    }
    VgpuPart& part = parts.try_emplace(device, VgpuPart{.device = device}).first->second;
    part.memory += request.MemoryOn(card->devmem);
    part.cores = std::min(part.cores + request.cores, kAllCores);
  }
  std::vector<VgpuPart> all;
  for (auto& [device, part] : parts) {
    // Nothing is no limit: the library in the container takes it so. More than HAMi's annotations
    // hold would be counted as something else.
    if (part.memory <= 0 || part.memory > std::numeric_limits<int32_t>::max()) {
      return Fail(Reason::kInvalid, "{} MiB of {} are no part of a card", part.memory,
                  Brief(device));
    }
    all.push_back(std::move(part));
  }
  return all;
}

}  // namespace

hami::RequestRules RulesOf(const std::string& resource, const VgpuRequests& requests) {
  return {.count_name = resource,
          .memory_name = requests.memory_name,
          .percentage_name = requests.percentage_name,
          .cores_name = requests.cores_name,
          .default_memory = requests.default_memory,
          .default_cores = requests.default_cores,
          .memory_factor = requests.memory_factor};
}

hami::RegisteredDevice CardOf(const Device& device, const Vgpu& vgpu) {
  constexpr int kMiB = 20;
  const uint64_t bytes = static_cast<uint64_t>(device.memory) << kMiB;
  return {.id = device.key.id,
          .count = vgpu.parts,
          .devmem = hami::RegisteredMemory(bytes, vgpu.memory_scaling),
          .devcore = hami::RegisteredCores(vgpu.core_scaling)};
}

std::vector<hami::RegisteredDevice> CardsOf(const Offer& offer, const Vgpu& vgpu) {
  std::vector<hami::RegisteredDevice> cards;
  for (const Device& device : offer.devices) cards.push_back(CardOf(device, vgpu));
  return cards;
}

std::vector<hami::Container> ContainersOf(const kube::Pod& pod) {
  std::vector<hami::Container> containers;
  for (const kube::Container& container : pod.containers) {
    containers.push_back({.name = container.name,
                          .kind = TypeOf(container.kind),
                          .limits = container.limits,
                          .requests = container.requests});
  }
  return containers;
}

bool IsPlaced(const kube::Pod& pod) {
  return !pod.Annotation(hami::kPodAllocated).empty();
}

Result<PodPlacement> ReadPlacement(const kube::Pod& pod, const hami::RequestRules& rules,
                                   std::span<const hami::RegisteredDevice> cards) {
  if (!pod.excess.empty()) return Fail(Bad(pod, "", {Reason::kBadDecision, pod.excess}));
  if (!IsPlaced(pod)) {
    return Fail(Reason::kNotPlaced,
                "pod {}: no scheduler has chosen GPUs for it: it has no annotation {}",
                pod.FullName(), hami::kPodAllocated);
  }
  if (const std::string_view node = pod.Annotation(hami::kPodNode); node != pod.node) {
    return Fail(Reason::kNotPlaced,
                "pod {}: its GPUs were chosen for node {}, and it runs on {}: {}", pod.FullName(),
                Brief(node), pod.node, hami::kPodNode);
  }
  const auto entries = hami::DecodePodDevices(pod.Annotation(hami::kPodAllocated));
  if (!entries) return Fail(Bad(pod, "", entries.error()));
  const std::vector<hami::Container> containers = ContainersOf(pod);
  const auto of_containers = hami::EntriesByContainer(containers, rules, *entries);
  if (!of_containers) return Fail(Bad(pod, "", of_containers.error()));
  PodPlacement placement;
  for (size_t i = 0; i < containers.size(); ++i) {
    const auto request = hami::Resolve(containers[i], rules);
    if (!request) return Fail(Bad(pod, containers[i].name, request.error()));
    if (!*request) continue;
    const hami::Entry& entry = (*of_containers)[i];
    if (const Status fits = hami::CheckEntry(entry, **request, cards); !fits) {
      return Fail(Bad(pod, containers[i].name, fits.error()));
    }
    placement.push_back({containers[i].name, containers[i].kind, PartsOf(entry)});
  }
  return placement;
}

Result<PodPlacement> FitPlacement(const kube::Pod& pod, const hami::RequestRules& rules,
                                  std::span<const hami::RegisteredDevice> cards,
                                  const SharesByContainer& shares) {
  if (!pod.excess.empty()) {
    return Fail(Reason::kBadSize, "pod {}: it cannot have what it asks for: {}", pod.FullName(),
                pod.excess);
  }
  PodPlacement placement;
  for (const hami::Container& container : ContainersOf(pod)) {
    const auto held = shares.find(container.name);
    if (held == shares.end()) continue;
    const auto request = ResolveSizes(pod, container, rules);
    if (!request) return Fail(Unfit(pod, container.name, request.error()));
    if (!*request) continue;
    auto parts = FitParts(**request, cards, held->second);
    if (!parts) return Fail(Unfit(pod, container.name, parts.error()));
    placement.push_back({container.name, container.kind, *std::move(parts)});
  }
  return placement;
}

hami::Entry EntryOf(std::span<const VgpuPart> parts) {
  hami::Entry entry;
  for (const VgpuPart& part : parts) {
    entry.push_back({.uuid = part.device,
                     .type = std::string(hami::kVendor),
                     .memory = static_cast<int32_t>(part.memory),
                     .cores = part.cores});
  }
  return entry;
}

std::string LessThanAsked(const kube::Pod& pod, const hami::RequestRules& rules,
                          std::span<const hami::RegisteredDevice> cards,
                          const PlacedContainer& decided) {
  const std::vector<hami::Container> containers = ContainersOf(pod);
  const auto own = std::ranges::find(containers, decided.name, &hami::Container::name);
  if (own == containers.end()) return "";
  const auto request = hami::Resolve(*own, rules);
  if (!request || !*request) return "";
  return hami::LessThanAsked(EntryOf(decided.parts), **request, cards);
}

bool HasEnded(const kube::Pod& pod, std::string_view container) {
  if (pod.HasEnded()) return true;
  const auto found = std::ranges::find(pod.containers, container, &kube::Container::name);
  return found != pod.containers.end() && found->kind == kube::Container::Kind::kInit &&
         found->succeeded;
}

std::map<std::string, hami::CardUsage> UsageOf(const PodPlacement& placement,
                                               const kube::Pod* pod) {
  std::vector<hami::Container> containers;
  std::vector<hami::Entry> entries;
  for (const PlacedContainer& container : placement) {
    if (pod != nullptr && HasEnded(*pod, container.name)) continue;
    containers.push_back({.name = container.name, .kind = container.kind});
    entries.push_back(EntryOf(container.parts));
  }
  return hami::UsageByCard(containers, entries);
}

bool WantsNoControl(const kube::Pod& pod, std::string_view container) {
  const auto found = std::ranges::find(pod.containers, container, &kube::Container::name);
  if (found == pod.containers.end()) return false;
  const auto said = found->variables.find(hami::kEnvDisableControl);
  return said != found->variables.end() && hami::ParseBool(said->second).value_or(false);
}

}  // namespace tessera
