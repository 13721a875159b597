// SPDX-License-Identifier: Apache-2.0
#include "grant/grant.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/quote.h"
#include "base/text.h"
#include "grant/enforcer.h"
#include "grant/fraction.h"
#include "grant/relations.h"
#include "share/withhold.h"

namespace tessera {
namespace {

using Devices = std::vector<const Device*>;

struct StrategyRow {
  Strategy strategy;
  std::string_view name;
};
constexpr std::array kStrategies = {
    StrategyRow{Strategy::kEnvvar, "envvar"},
    StrategyRow{Strategy::kVolumeMounts, "volume-mounts"},
    StrategyRow{Strategy::kDeviceSpecs, "device-specs"},
    StrategyRow{Strategy::kCdiAnnotations, "cdi-annotations"},
    StrategyRow{Strategy::kCdiCri, "cdi-cri"},
};

// The devices of the ids, each once, in the offer's order.
Result<Devices> DevicesOf(const Offer& offer, std::span<const std::string> ids) {
  if (ids.empty()) {
    return Fail(Reason::kEmptyRequest, "{}: the request names no device", offer.resource);
  }
  std::vector<uint32_t> positions;
  positions.reserve(ids.size());
  for (const std::string& id : ids) {
    const auto position = offer.shares.PositionOf(id);
    if (!position) {
      return Fail(Reason::kUnknownShare, "{}: there is no id {} among the {} this node offers",
                  offer.resource, Brief(id), offer.shares.size());
    }
    positions.push_back(*position);
  }
  std::sort(positions.begin(), positions.end());
  const auto twice = std::adjacent_find(positions.begin(), positions.end());
  if (twice != positions.end()) {
    return Fail(Reason::kDuplicateShare, "{}: id {} is requested twice", offer.resource,
                Brief(offer.shares[*twice].id));
  }
  Devices devices;
  devices.reserve(positions.size());
  for (uint32_t position : positions) {  // an offer's shares are ordered by device
    const Share& share = offer.shares[position];
    TRY(CheckHealthy(offer, share.device));
    TRY(CheckRoom(offer, share));
    const Device* device = &offer.devices[share.device];
    if (devices.empty() || devices.back() != device) devices.push_back(device);
  }
  std::stable_sort(devices.begin(), devices.end(),
                   [](const Device* a, const Device* b) { return a->order < b->order; });
  TRY(CheckRelations(offer, devices));
  return devices;
}

Status CheckCount(const Offer& offer, const Rendering& rendering, size_t count) {
  if (!rendering.one_per_container || count < 2 || offer.plan.policy.division == Division::kWhole) {
    return {};
  }
  return Fail(Reason::kTooManyShares,
              "{}: {} shares are requested, and a container may hold 1 of this resource",
              offer.resource, count);
}

// True if one node in the container serves both. `taken` then gets the permissions of both.
bool Joined(const DeviceNode& node, DeviceNode& taken) {
  if (node.host_path != taken.host_path) return false;
  for (const char letter : node.permissions) {
    if (taken.permissions.find(letter) == std::string::npos) taken.permissions += letter;
  }
  return true;
}
bool Joined(const Mount& mount, const Mount& taken) {
  return mount == taken;
}

// Collects the nodes or mounts of the devices. A shared one is listed once. Two different ones for
// the same path in the container are an error.
template <class Item>
Result<std::vector<Item>> Collect(const Offer& offer, const Devices& devices,
                                  std::vector<Item> Device::* items) {
  std::vector<Item> collected;
  std::map<std::string_view, std::pair<size_t, const Device*>> taken;
  for (const Device* device : devices) {
    for (const Item& item : device->*items) {
      const auto [it, fresh] = taken.try_emplace(item.container_path, collected.size(), device);
      if (fresh) {
        collected.push_back(item);
      } else if (!Joined(item, collected[it->second.first])) {
        return Fail(Reason::kPathConflict, "{}: devices {} and {} both need {} in the container",
                    offer.resource, it->second.second->key.id, device->key.id, item.container_path);
      }
    }
  }
  return collected;
}

// Moves the channels' nodes to the end.
void MoveBehind(const std::vector<Channel>& channels, std::vector<DeviceNode>& nodes) {
  for (const Channel& channel : channels) {
    std::stable_partition(nodes.begin(), nodes.end(), [&](const DeviceNode& node) {
      return node.container_path != channel.node;
    });
  }
}

bool Have(const Devices& devices, const Channel& channel) {
  return std::any_of(devices.begin(), devices.end(), [&](const Device* device) {
    return std::any_of(device->nodes.begin(), device->nodes.end(),
                       [&](const DeviceNode& node) { return node.container_path == channel.node; });
  });
}

// The channels of the devices.
std::vector<const Channel*> ChannelsOf(const Devices& devices, const Rendering& rendering) {
  std::vector<const Channel*> channels;
  for (const Channel& channel : rendering.channels) {
    if (Have(devices, channel)) channels.push_back(&channel);
  }
  return channels;
}

void AddName(std::string_view name, std::string& names) {
  if (!names.empty()) names += ',';
  names += name;
}

void NameVisible(const Devices& devices, const Rendering& rendering, Grant& grant) {
  if (rendering.env.empty()) return;
  std::string names;
  for (const Device* device : devices) AddName(device->visible_as, names);
  grant.envs[rendering.env] = std::move(names);
  for (const Channel* channel : ChannelsOf(devices, rendering)) {
    AddName(channel->name, grant.envs[channel->env]);
  }
}

void JoinVariables(const Devices& devices, Grant& grant) {
  DeviceVariables joined;
  for (const Device* device : devices) {
    for (const auto& [name, value] : device->traits->variables) JoinVariable(name, value, joined);
  }
  grant.envs.merge(std::move(joined));
}

void ListByMounts(const Devices& devices, const Rendering& rendering, Grant& grant) {
  if (rendering.mount_list_dir.empty()) return;
  if (!rendering.env.empty()) grant.envs[rendering.env] = rendering.mount_list_dir;
  const auto list = [&](const std::string& name) {
    grant.mounts.push_back({.host_path = "/dev/null",
                            .container_path = rendering.mount_list_dir + "/" + name,
                            .read_only = false});
  };
  for (const Device* device : devices) list(device->visible_as);
  for (const Channel* channel : ChannelsOf(devices, rendering)) {
    list(channel->mount + "/" + channel->name);
  }
}

// `late`: the grant's name replaces its devices' names.
std::vector<std::string> CdiNames(const Devices& devices, const Rendering& rendering,
                                  std::string_view late) {
  std::vector<std::string> names;
  if (rendering.cdi_kind.empty()) return names;
  if (late.empty()) {
    for (const Device* device : devices) names.push_back(CdiNameOf(*device, rendering));
  } else {
    names.push_back(fmt::format("{}={}", GrantCdiKind(rendering), late));
  }
  for (const Channel* channel : ChannelsOf(devices, rendering)) {
    if (!channel->cdi_device.empty()) names.push_back(channel->cdi_device);
  }
  for (const ExtraDevice& extra : rendering.extras) {
    if (!extra.cdi_device.empty()) names.push_back(extra.cdi_device);
  }
  return names;
}

Status Render(const Offer& offer, const Rendering& rendering, const Devices& devices,
              Strategy strategy, std::string_view late, Grant& grant) {
  switch (strategy) {
    case Strategy::kEnvvar:
      NameVisible(devices, rendering, grant);
      JoinVariables(devices, grant);
      break;
    case Strategy::kVolumeMounts:
      grant.mounts = TRY(Collect(offer, devices, &Device::mounts));
      ListByMounts(devices, rendering, grant);
      break;
    case Strategy::kDeviceSpecs:
      grant.devices = TRY(Collect(offer, devices, &Device::nodes));
      MoveBehind(rendering.channels, grant.devices);
      break;
    case Strategy::kCdiAnnotations:
      if (rendering.cdi_kind.empty()) break;
      grant.annotations[CdiAnnotationKey(rendering.cdi_annotation_prefix, offer.resource)] =
          Join(CdiNames(devices, rendering, late), ",");
      break;
    case Strategy::kCdiCri:
      grant.cdi_devices = CdiNames(devices, rendering, late);
      break;
  }
  return {};
}

// The devices that the match gives the container.
Result<Devices> MatchedDevices(const Offer& offer, const FractionMatch& match) {
  Devices devices;
  for (const Fraction& part : match.parts) {
    const auto position = offer.PositionOf(part.device);
    if (!position) {
      return Fail(Reason::kVanished, "{}: device {} is not there", offer.resource, part.device);
    }
    TRY(CheckPart(offer, *position));
    devices.push_back(&offer.devices[*position]);
  }
  std::ranges::stable_sort(devices, {}, &Device::order);
  return devices;
}

void Enforce(const FractionRules& fractions, const FractionGrant& granted, Grant& grant) {
  if (fractions.enforcer == nullptr) return;
  grant.envs.merge(fractions.enforcer->Envs(fractions, granted));
  std::ranges::move(fractions.enforcer->Mounts(fractions, granted),
                    std::back_inserter(grant.mounts));
}

// Adds annotations with the matched container. kubelet keeps them, and the check before the start
// compares them.
void AddMatched(const Offer& offer, const FractionRules& fractions, std::string_view name,
                const FractionMatch& match, Grant& grant) {
  FractionGrant granted{.name = std::string(name),
                        .directory = match.directory,
                        .parts = match.parts,
                        .controlled = match.controlled};
  SortAsContainersSee(offer, granted.parts);
  grant.annotations[kPartsAnnotation] = PartsText(granted.parts);
  grant.annotations[kPodAnnotation] = match.pod_uid;
  grant.annotations[kContainerAnnotation] = match.container;
  Enforce(fractions, granted, grant);
  grant.devices.push_back(
      {.host_path = GateOf(fractions, name), .container_path = kGate, .permissions = "r"});
}

// Puts the grant's name in the answer, by which PreStart finds it. The visible-devices variable
// names no device for other readers.
void NameLate(const Rendering& rendering, std::string_view name, Grant& grant) {
  const auto& fractions = rendering.fractions;
  if (fractions) grant.annotations[kGrantAnnotation] = name;
  if (!fractions || fractions->prepared) grant.annotations[kPreparedAnnotation] = name;
  if (WritesCdi(rendering) && !rendering.env.empty()) grant.envs[rendering.env] = "void";
}

// Adds the parts of a grant of virtual GPUs. Configured sizes are computed now, so a container with
// unknown sizes is refused at once. Requested sizes are known only after the pod is known.
Status AddFractions(const Offer& offer, const Rendering& rendering,
                    std::span<const std::string> ids, std::string_view name,
                    const FractionMatch* match, Grant& grant) {
  const FractionRules& fractions = *rendering.fractions;
  const bool late = WritesCdi(rendering);
  if (!late || !fractions.tunables_fixed)
    grant.envs.insert(fractions.tunables.begin(), fractions.tunables.end());
  if (fractions.requests && late) {
    grant.annotations[kPartsAnnotation] = kPartsAsked;
    return {};
  }
  if (match != nullptr) {
    AddMatched(offer, fractions, name, *match, grant);
    return {};
  }
  const FractionGrant granted =
      NewFractionGrant(fractions, name, TRY(FractionsOf(offer, fractions, ids)));
  grant.annotations[kPartsAnnotation] = PartsText(granted.parts);
  if (late) return {};
  if (fractions.enforced && fractions.library.empty()) {
    return Fail(Reason::kNotEnforced,
                "{}: the limiting library could not be copied into {}; see the agent's log",
                offer.resource, fractions.directory);
  }
  Enforce(fractions, granted, grant);
  return {};
}

}  // namespace

std::string_view StrategyName(Strategy strategy) {
  return kStrategies[static_cast<size_t>(strategy)].name;
}

std::optional<Strategy> StrategyFromName(std::string_view name) {
  for (const StrategyRow& row : kStrategies) {
    if (row.name == name) return row.strategy;
  }
  return std::nullopt;
}

bool NeedsMatch(const Rendering& rendering) {
  return rendering.fractions && rendering.fractions->requests && !WritesCdi(rendering);
}

Status CheckHealthy(const Offer& offer, uint32_t device) {
  if (offer.IsHealthy(device)) return {};
  const Error& why = offer.troubles.at(device);
  return Fail(Reason::kUnhealthyShare, "{}: device {} is unhealthy: {}", offer.resource,
              offer.devices[device].key.id,
              why.message.empty() ? ReasonName(why.reason) : std::string_view(why.message));
}

Status CheckPart(const Offer& offer, uint32_t device) {
  TRY(CheckHealthy(offer, device));
  if (!offer.IsHeldWhole(device)) return {};
  return Fail(Reason::kNoRoom, "{}: a container has device {} whole, from before it was divided",
              offer.resource, offer.devices[device].key.id);
}

bool IsCdi(Strategy strategy) {
  return strategy == Strategy::kCdiCri || strategy == Strategy::kCdiAnnotations;
}

Result<Grant> Allocate(const Offer& offer, const Rendering& rendering,
                       std::span<const std::string> ids, std::string_view name,
                       const FractionMatch* match) {
  TRY(CheckCount(offer, rendering, ids.size()));
  Devices devices = TRY(DevicesOf(offer, ids));
  if (NeedsMatch(rendering)) {
    if (match == nullptr) {
      return Fail(Reason::kNotMatched,
                  "{}: without CDI the agent must know the pod at Allocate, but does not",
                  offer.resource);
    }
    devices = TRY(MatchedDevices(offer, *match));
  }
  const std::string_view late = WritesCdi(rendering) ? name : "";
  Grant grant;
  // The table's order applies, not the configuration's: mounts must set the variable last.
  for (const StrategyRow& row : kStrategies) {
    if (std::ranges::count(rendering.strategies, row.strategy) == 0) continue;
    if (!late.empty() && !IsCdi(row.strategy)) continue;
    TRY(Render(offer, rendering, devices, row.strategy, late, grant));
  }
  for (const ExtraDevice& extra : rendering.extras) grant.envs[extra.env] = "enabled";
  grant.envs.insert(rendering.envs.begin(), rendering.envs.end());
  grant.mounts.insert(grant.mounts.end(), rendering.mounts.begin(), rendering.mounts.end());
  grant.annotations.insert(rendering.annotations.begin(), rendering.annotations.end());
  if (rendering.fractions || !name.empty()) NameLate(rendering, name, grant);
  if (rendering.fractions) TRY(AddFractions(offer, rendering, ids, name, match, grant));
  return grant;
}

}  // namespace tessera
