// SPDX-License-Identifier: Apache-2.0
#include "report/hami_registration.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "hami/handshake.h"
#include "hami/link_scores.h"
#include "hami/names.h"
#include "hami/node_register.h"
#include "hami/vendor_table.h"
#include "kube/metadata_patch.h"
#include "placement/agent_mark.h"
#include "placement/placement.h"
#include "report/node_labels.h"
#include "version.h"

namespace tessera {
namespace {

const FractionRegistration* SettingsOf(const config::Resource& resource) {
  const auto& fractions = resource.rendering.fractions;
  const bool registered = fractions && fractions->requests && fractions->requests->vendor;
  return registered && fractions->registration ? &*fractions->registration : nullptr;
}

// True if the plan keeps the device's shares of a former policy.
bool IsKept(const Node& node, const DeviceKey& key) {
  const auto plan = node.plans().find(key.source);
  return plan != node.plans().end() && plan->second.kept.contains(key.id);
}

hami::RegisteredDevice Registered(const Node& node, const Device& device,
                                  const FractionRules& fractions) {
  const DeviceCapacity capacity = CapacityOf(device, fractions);
  hami::RegisteredDevice card{.id = capacity.device,
                              .count = capacity.containers,
                              .devmem = capacity.memory,
                              .devcore = capacity.cores};
  card.index = static_cast<uint32_t>(device.order / fractions.registration->order_step);
  card.type = hami::TypeName(*fractions.requests->vendor, device.model);
  const hami::Vendor& vendor = *fractions.requests->vendor;
  const bool has_numa = vendor.registers_numa && !device.numa_nodes.empty();
  card.numa = has_numa ? device.numa_nodes.front() : 0;
  if (!vendor.use_mode.empty() && vendor.node_mode.empty()) card.mode = hami::kModeCore;
  const auto cores = device.traits->capacities.find(std::string(vendor.register_cores));
  if (cores != device.traits->capacities.end()) card.devcore = static_cast<int32_t>(cores->second);
  card.vendor = vendor.register_word;
  if (!vendor.register_address.empty() && !device.address.empty()) {
    card.custom.emplace(vendor.register_address, device.address);
  }
  if (!vendor.register_board.empty()) {
    const bool second = vendor.second_board > 0 && card.index >= vendor.second_board;
    card.custom.emplace(vendor.register_board, second ? "1" : "0");
  }
  card.health = !node.TroubleOf(device) && !IsKept(node, device.key);
  return card;
}

// The known points from each GPU to each other one.
using Points = std::map<std::string, std::map<std::string, int>>;

struct RegisteredNode {
  std::map<std::string, hami::RegisteredDevice> devices;
  Points points;
};

void AddDevices(const Node& node, const config::Resource& resource, RegisteredNode& known) {
  for (const Device& device : node.inventory()->devices) {
    if (device.key.source != resource.name || !device.parent.empty() || device.memory <= 0) {
      continue;
    }
    hami::RegisteredDevice registered = Registered(node, device, *resource.rendering.fractions);
    // A device that moved to another resource is listed under both while it may be in use. The
    // healthy entry wins.
    const auto [at, first] = known.devices.try_emplace(device.key.id, registered);
    if (!first && registered.health) at->second = std::move(registered);
    auto& points = known.points[device.key.id];
    for (const Link& link : device.links) points[link.peer] = link.points;
  }
}

hami::Link LinkBetween(const Points& points, const std::string& from, const std::string& to) {
  const auto& links = points.at(from);
  const auto found = links.find(to);
  return hami::LinkOfPoints(found == links.end() ? 0 : found->second);
}

// Lists each pair once.
std::vector<std::string> AsymmetricPairs(const Points& points) {
  std::vector<std::string> pairs;
  for (auto one = points.begin(); one != points.end(); ++one) {
    for (auto other = std::next(one); other != points.end(); ++other) {
      const bool asymmetric = hami::IsAsymmetric(LinkBetween(points, one->first, other->first),
                                                 LinkBetween(points, other->first, one->first));
      if (asymmetric) pairs.push_back(fmt::format("{} and {}", one->first, other->first));
    }
  }
  return pairs;
}

std::string ScoresText(const Points& points) {
  const auto link = [&](const std::string& from, const std::string& to) {
    return LinkBetween(points, from, to);
  };
  std::vector<hami::DeviceScores> scores;
  for (const auto& [uuid, links] : points) {
    hami::DeviceScores& device = scores.emplace_back(hami::DeviceScores{.uuid = uuid});
    for (const auto& [other, others_links] : points) {
      if (other == uuid) continue;
      device.scores[other] = hami::PairScore(link(uuid, other), link(other, uuid));
    }
  }
  return hami::EncodeScores(scores);
}

// Adds the annotation to the patch, if it differs from the node's. The last call for a key counts.
void SetAnnotation(const Labels& present, std::string_view key,
                   const std::optional<std::string>& value, kube::MetadataPatch& patch) {
  const auto found = present.find(std::string(key));
  const bool same =
      value ? found != present.end() && found->second == *value : found == present.end();
  if (same) {
    patch.annotations.erase(std::string(key));
  } else {
    patch.annotations[std::string(key)] = value;
  }
}

void RemoveAnnotations(const Labels& present, const HamiVendors& vendors,
                       kube::MetadataPatch& patch) {
  for (const hami::Vendor* vendor : vendors) {
    SetAnnotation(present, vendor->node_register, std::nullopt, patch);
    SetAnnotation(present, vendor->node_score, std::nullopt, patch);
    SetAnnotation(present, vendor->node_mode, std::nullopt, patch);
    const auto handshake = present.find(std::string(vendor->node_handshake));
    const bool reported =
        handshake != present.end() &&
        hami::ReadHandshake(handshake->second).state == hami::HandshakeState::kReported;
    if (reported) SetAnnotation(present, vendor->node_handshake, std::nullopt, patch);
  }
}

std::optional<json::Value> PatchOf(const kube::MetadataPatch& patch) {
  if (patch.empty()) return std::nullopt;
  return json::Value(patch.Json());
}

}  // namespace

bool IsRegistered(const config::Resource& resource) {
  return SettingsOf(resource) != nullptr;
}

std::optional<HamiRegistration> RegistrationOf(const Node& node,
                                               const std::vector<config::Resource>& resources) {
  const hami::Vendor* vendor = nullptr;
  bool scored = false;
  bool old_format = false;
  bool late_bound = true;
  bool fits_unplaced = true;
  RegisteredNode known;
  for (const config::Resource& resource : resources) {
    const auto* settings = SettingsOf(resource);
    if (settings == nullptr) continue;
    vendor = resource.rendering.fractions->requests->vendor;
    scored |= settings->link_scores;
    old_format |= settings->old_format;
    late_bound &= !NeedsMatch(resource.rendering);
    fits_unplaced &= resource.rendering.fractions->requests->fit_unplaced;
    AddDevices(node, resource, known);
  }
  if (vendor == nullptr) return std::nullopt;
  std::vector<hami::RegisteredDevice> devices;
  devices.reserve(known.devices.size());
  for (auto& [id, device] : known.devices) devices.push_back(std::move(device));
  HamiRegistration registration{
      .devices = old_format || vendor->node_register_format == hami::Vendor::Register::kText
                     ? hami::EncodeOldRegister(devices)
                     : hami::EncodeRegister(devices),
      .reports = old_format || vendor->reports,
      .late_bound = late_bound,
      .fits_unplaced = fits_unplaced,
      .vendor = vendor};
  if (!scored) return registration;
  registration.scores = ScoresText(known.points);
  registration.asymmetric = AsymmetricPairs(known.points);
  return registration;
}

HamiVendors HamiVendorsOf(const std::set<std::string>& words) {
  HamiVendors vendors = hami::AgentVendors();
  std::erase_if(vendors, [&](const hami::Vendor* vendor) {
    return !words.contains(std::string(vendor->word));
  });
  return vendors;
}

bool HasRegistration(const HamiVendors& vendors, const json::Value& node) {
  const Labels present = kube::MetadataOf(node).annotations;
  return std::ranges::any_of(vendors, [&](const hami::Vendor* vendor) {
    return present.contains(std::string(vendor->node_register));
  });
}

// Vendors may share a key, so those of `former` come first.
std::optional<json::Value> RegistrationPatch(const HamiRegistration& wanted,
                                             const HamiVendors& former, const json::Value& node,
                                             Wall now, Duration running) {
  const Labels present = kube::MetadataOf(node).annotations;
  kube::MetadataPatch patch;
  RemoveAnnotations(present, former, patch);
  SetAnnotation(present, wanted.vendor->node_register, wanted.devices, patch);
  SetAnnotation(present, wanted.vendor->node_score, wanted.scores, patch);
  SetAnnotation(present, kAgentMark,
                WriteAgentMark({.version = TESSERA_VERSION,
                                .late_bound = wanted.late_bound,
                                .fits_unplaced = wanted.fits_unplaced}),
                patch);
  if (!wanted.vendor->node_mode.empty()) {
    SetAnnotation(present, wanted.vendor->node_mode, "false", patch);  // the agent has no kModeCore
  }
  if (wanted.reports) {
    SetAnnotation(
        present, wanted.vendor->node_handshake,
        wanted.vendor->reports ? hami::WriteAscendReported(now) : hami::WriteReported(now, running),
        patch);
  }
  return PatchOf(patch);
}

std::optional<json::Value> RegistrationRemoval(const HamiVendors& vendors,
                                               const json::Value& node) {
  const Labels present = kube::MetadataOf(node).annotations;
  kube::MetadataPatch patch;
  SetAnnotation(present, kAgentMark, std::nullopt, patch);
  RemoveAnnotations(present, vendors, patch);
  return PatchOf(patch);
}

}  // namespace tessera
