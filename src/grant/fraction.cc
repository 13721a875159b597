// SPDX-License-Identifier: Apache-2.0
#include "grant/fraction.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "limiter/contract.h"

namespace tessera {
namespace {

// The requested shares of one GPU.
struct Held {
  uint32_t device = 0;
  int64_t shares = 0;
  int64_t memory = 0;  // MiB, from configured sizes
  int cores = 0;       // percent, from configured sizes
};

Result<Fraction> PartOf(const Offer& offer, const FractionRules& fractions, const Held& held) {
  const Device& device = offer.devices[held.device];
  if (!fractions.sizes.empty()) return Fraction{device.key.id, held.memory, held.cores};
  if (device.memory <= 0) {
    return Fail(
        Reason::kUnreadable,
        "{}: the driver does not report the memory of device {}; set 'vgpu: {{sizes: ...}}'",
        offer.resource, device.key.id);
  }
  const auto cores = static_cast<int>(kAllCores * held.shares / fractions.parts);
  const int64_t all = std::llround(static_cast<double>(device.memory) * fractions.memory_scaling);
  const int64_t memory = all * held.shares / fractions.parts;
  return Fraction{device.key.id, std::max<int64_t>(memory, 1), std::max(cores, 1)};
}

// Nothing if the number is less than `least`.
std::optional<int64_t> ReadNumber(std::string_view digits, int64_t least) {
  int64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  return stop == end && error == std::errc() && number >= least ? std::optional(number)
                                                                : std::nullopt;
}

// The last part of the path, with its '/'.
std::string_view FileIn(std::string_view path) {
  return path.substr(path.rfind('/'));
}

// Files that a container writes must only be data for the host's users and for its own root. So the
// mount allows no programs, set-user-ID bits or device nodes.
cdi::Mount MountOf(const Mount& mount) {
  cdi::Mount made = CdiMount(mount);
  if (!mount.read_only) made.options = {"rbind", "rprivate", "nosuid", "nodev", "noexec", "rw"};
  return made;
}

}  // namespace

Result<std::vector<Fraction>> FractionsOf(const Offer& offer, const FractionRules& fractions,
                                          std::span<const std::string> ids) {
  std::map<uint32_t, Held> devices;
  for (const std::string& id : ids) {
    const Share* share = offer.shares.Find(id);
    const std::optional<int> number = ReplicaOfShare(id);
    const bool known = share != nullptr && number && *number < fractions.parts;
    if (!known) {
      return Fail(Reason::kUnknownShare, "{}: {} is not a virtual GPU of this node", offer.resource,
                  id);
    }
    TRY(CheckHealthy(offer, share->device));
    Held& held = devices.try_emplace(share->device, Held{.device = share->device}).first->second;
    ++held.shares;
    if (fractions.sizes.empty()) continue;
    const FractionSize& size = fractions.sizes[static_cast<size_t>(*number)];
    held.memory += size.memory;
    held.cores = std::min(held.cores + size.cores, kAllCores);
  }
  std::vector<Fraction> parts;
  for (const auto& [device, held] : devices) parts.push_back(TRY(PartOf(offer, fractions, held)));
  SortAsContainersSee(offer, parts);
  return parts;
}

std::string PartsText(std::span<const Fraction> parts) {
  std::string text;
  for (const Fraction& part : parts) {
    text +=
        fmt::format("{}{}={}:{}", text.empty() ? "" : ",", part.device, part.memory, part.cores);
  }
  return text;
}

std::optional<std::vector<Fraction>> ReadParts(std::string_view text) {
  std::vector<Fraction> parts;
  for (const std::string& item : Split(text, ',')) {
    const size_t equals = item.rfind('=');
    const size_t colon = item.rfind(':');
    if (equals == std::string::npos || colon == std::string::npos || colon < equals) return {};
    const auto memory =
        ReadNumber(std::string_view(item).substr(equals + 1, colon - equals - 1), 1);
    const auto cores = ReadNumber(std::string_view(item).substr(colon + 1), 0);
    if (equals == 0 || !memory || !cores || *cores > kAllCores) return {};
    parts.push_back({item.substr(0, equals), *memory, static_cast<int>(*cores)});
  }
  return parts;
}

FractionFiles FilesOf(const FractionRules& fractions) {
  return {.containers = fractions.directory + "/containers",
          .gates = fractions.directory + "/grants",
          .limits = fractions.directory + "/limits",
          .locks = fractions.directory + "/locks",
          .no_limits = fractions.directory + "/no-limits",
          .preload = fractions.directory + "/ld.so.preload"};
}

FractionGrant NewFractionGrant(const FractionRules& fractions, std::string_view name,
                               std::vector<Fraction> parts) {
  return {.name = std::string(name),
          .directory = fmt::format("{}/{}", FilesOf(fractions).containers, name),
          .parts = std::move(parts)};
}

void SortAsContainersSee(const Offer& offer, std::vector<Fraction>& parts) {
  const auto place = [&](const Fraction& part) {
    const auto known = offer.PositionOf(part.device);
    return known ? offer.devices[*known].order : 0;
  };
  std::ranges::stable_sort(parts, {}, place);
}

std::string GateOf(const FractionRules& fractions, std::string_view name) {
  return fmt::format("{}/{}", FilesOf(fractions).gates, name);
}

std::string LimitsOf(const FractionRules& fractions, std::string_view name) {
  return fmt::format("{}/{}", FilesOf(fractions).limits, name);
}

std::string LimitsFileOf(const FractionRules& fractions, std::string_view name) {
  return LimitsOf(fractions, name).append(FileIn(limiter::kLimitsPath));
}

std::string NoLimitsFileOf(const FractionRules& fractions, std::string_view name) {
  return LimitsOf(fractions, name).append(FileIn(limiter::kNoLimitsPath));
}

std::string LocksOf(const FractionRules& fractions, std::string_view name) {
  return fmt::format("{}/{}", FilesOf(fractions).locks, name);
}

std::string RegionNameOf(std::string_view name) {
  return fmt::format("{}.cache", name);
}

Result<cdi::Document> FractionDocument(const Offer& offer, const Rendering& rendering,
                                       const FractionGrant& grant, const cdi::Parts* described) {
  cdi::Document document{.kind = GrantCdiKind(rendering)};
  cdi::Edits& edits = document.devices.emplace_back(cdi::Device{.name = grant.name}).edits;
  if (described != nullptr) edits = described->common;
  FractionGrant sorted = grant;
  for (const Fraction& part : grant.parts) {
    const auto known = offer.PositionOf(part.device);
    if (!known) {
      return Fail(Reason::kVanished, "{}: device {} no longer exists", offer.resource, part.device);
    }
    Append(CdiEditsOf(offer.devices[*known], rendering, described), edits);
    sorted.visible.push_back(offer.devices[*known].visible_as);
  }
  // Sorted by the current order: a GPU may have been added or removed since the grant.
  SortAsContainersSee(offer, sorted.parts);
  const FractionRules& fractions = *rendering.fractions;
  std::map<std::string, std::string> envs;
  std::vector<Mount> mounts;
  if (fractions.enforcer != nullptr) {
    envs = fractions.enforcer->Envs(fractions, sorted);
    mounts = fractions.enforcer->Mounts(fractions, sorted);
  }
  if (fractions.tunables_fixed) envs.insert(fractions.tunables.begin(), fractions.tunables.end());
  for (const auto& [key, value] : envs) edits.env.push_back(fmt::format("{}={}", key, value));
  for (const Mount& mount : mounts) edits.mounts.push_back(MountOf(mount));
  cdi::Sort(edits);
  return cdi::Tidy(std::move(document));
}

std::string GrantCdiKind(const Rendering& rendering) {
  return rendering.cdi_kind.substr(0, rendering.cdi_kind.find('/')) + "/grant";
}

std::string GrantFileName(std::string_view name) {
  return fmt::format("tessera-grant-{}.json", name);
}

}  // namespace tessera
