// SPDX-License-Identifier: Apache-2.0
#include "grant/grant.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/quote.h"
#include "base/text.h"

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

Status CheckHealthy(const Offer& offer, const Share& share) {
  if (share.healthy) return {};
  const std::string& id = offer.devices[share.device].key.id;
  const auto trouble = offer.troubles.find(share.device);
  if (trouble == offer.troubles.end()) {
    return Fail(Reason::kUnhealthyShare, "{}: device {} is unhealthy", offer.resource, id);
  }
  const Error& why = trouble->second;
  return Fail(Reason::kUnhealthyShare, "{}: device {} is unhealthy: {}", offer.resource, id,
              why.message.empty() ? ReasonName(why.reason) : std::string_view(why.message));
}

// The devices the ids belong to, each once, in their order.
Result<Devices> DevicesOf(const Offer& offer, std::span<const std::string> ids) {
  if (ids.empty()) {
    return Fail(Reason::kEmptyRequest, "{}: the request names no device", offer.resource);
  }
  std::vector<uint32_t> positions;
  positions.reserve(ids.size());
  for (const std::string& id : ids) {
    const auto position = offer.PositionOf(id);
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
  for (uint32_t position : positions) {  // device by device, as the shares of an offer are
    const Share& share = offer.shares[position];
    TRY(CheckHealthy(offer, share));
    const Device* device = &offer.devices[share.device];
    if (devices.empty() || devices.back() != device) devices.push_back(device);
  }
  std::stable_sort(devices.begin(), devices.end(),
                   [](const Device* a, const Device* b) { return a->order < b->order; });
  return devices;
}

// Collects the nodes or mounts of the devices. What several devices share is named once; two
// different things for one place in the container cannot both be had.
template <class Item>
Result<std::vector<Item>> Collect(const Offer& offer, const Devices& devices,
                                  std::vector<Item> Device::* items) {
  std::vector<Item> collected;
  std::map<std::string_view, std::pair<const Item*, const Device*>> taken;
  for (const Device* device : devices) {
    for (const Item& item : device->*items) {
      const auto [it, fresh] = taken.try_emplace(item.container_path, &item, device);
      if (fresh) {
        collected.push_back(item);
      } else if (*it->second.first != item) {
        return Fail(Reason::kPathConflict, "{}: devices {} and {} both need {} in the container",
                    offer.resource, it->second.second->key.id, device->key.id, item.container_path);
      }
    }
  }
  return collected;
}

void NameVisible(const Devices& devices, const std::string& variable, Grant& grant) {
  if (variable.empty()) return;
  std::string names;
  for (const Device* device : devices) {
    if (!names.empty()) names += ',';
    names += device->visible_as;
  }
  grant.envs[variable] = std::move(names);
}

void ListByMounts(const Devices& devices, const Rendering& rendering, Grant& grant) {
  if (rendering.mount_list_dir.empty()) return;
  if (!rendering.env.empty()) grant.envs[rendering.env] = rendering.mount_list_dir;
  for (const Device* device : devices) {
    grant.mounts.push_back({.host_path = "/dev/null",
                            .container_path = rendering.mount_list_dir + "/" + device->visible_as,
                            .read_only = false});
  }
}

std::vector<std::string> CdiNames(const Devices& devices, const std::string& kind) {
  std::vector<std::string> names;
  if (kind.empty()) return names;
  for (const Device* device : devices) names.push_back(CdiDeviceName(kind, device->key.id));
  return names;
}

Status Render(const Offer& offer, const Rendering& rendering, const Devices& devices,
              Strategy strategy, Grant& grant) {
  switch (strategy) {
    case Strategy::kEnvvar:
      NameVisible(devices, rendering.env, grant);
      break;
    case Strategy::kVolumeMounts:
      grant.mounts = TRY(Collect(offer, devices, &Device::mounts));
      ListByMounts(devices, rendering, grant);
      break;
    case Strategy::kDeviceSpecs:
      grant.devices = TRY(Collect(offer, devices, &Device::nodes));
      break;
    case Strategy::kCdiAnnotations:
      if (rendering.cdi_kind.empty()) break;
      grant.annotations[CdiAnnotationKey(offer.resource)] =
          Join(CdiNames(devices, rendering.cdi_kind), ",");
      break;
    case Strategy::kCdiCri:
      grant.cdi_devices = CdiNames(devices, rendering.cdi_kind);
      break;
  }
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

Result<Grant> Allocate(const Offer& offer, const Rendering& rendering,
                       std::span<const std::string> ids) {
  const Devices devices = TRY(DevicesOf(offer, ids));
  Grant grant;
  for (Strategy strategy : rendering.strategies) {
    TRY(Render(offer, rendering, devices, strategy, grant));
  }
  return grant;
}

}  // namespace tessera
