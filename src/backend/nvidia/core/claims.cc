// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/core/claims.h"

#include <fmt/core.h>
#include <fnmatch.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "config/schema/family.h"

namespace tessera::nvidia {
namespace {

using Claim = NvidiaConfig::Claim;
using InMigMode = NvidiaConfig::InMigMode;

bool Fits(const std::string& pattern, const std::string& text) {
  return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

bool Selects(const Claim& claim, const Gpu& gpu) {
  const auto fits = [&](const NvidiaConfig::Selector& selector) { return Fits(selector, gpu); };
  return (claim.select.empty() || std::ranges::any_of(claim.select, fits)) &&
         std::ranges::none_of(claim.exclude, fits);
}

// A GPU in MIG mode that is claimed as a whole includes its MIG devices.
bool TakesWhole(const Claim& claim, const Gpu& gpu) {
  return claim.mig.empty() && Selects(claim, gpu) &&
         (!gpu.mig.enabled || claim.in_mig_mode == InMigMode::kWhole);
}

bool TakesDevice(const Claim& claim, const Gpu& gpu, const MigDevice& device) {
  const bool fits = claim.mig.empty() ? claim.in_mig_mode == InMigMode::kDevices
                                      : FitsProfile(claim.mig, device.profile);
  return fits && Selects(claim, gpu);
}

Claim ClaimOf(const NvidiaConfig& config) {
  return {config.select, config.mig, config.in_mig_mode, config.exclude};
}

bool IsTaken(const NvidiaConfig& config, const Gpu& gpu) {
  return std::any_of(config.earlier.begin(), config.earlier.end(),
                     [&](const Claim& claim) { return TakesWhole(claim, gpu); });
}

// The GPU's MIG devices that no earlier resource has.
std::vector<size_t> FreeDevices(const NvidiaConfig& config, const Gpu& gpu) {
  std::vector<size_t> devices;
  if (IsTaken(config, gpu)) return devices;
  for (size_t i = 0; i < gpu.mig.devices.size(); ++i) {
    const bool taken = std::any_of(
        config.earlier.begin(), config.earlier.end(),
        [&](const Claim& claim) { return TakesDevice(claim, gpu, gpu.mig.devices[i]); });
    if (!taken) devices.push_back(i);
  }
  return devices;
}

// The division of one GPU. The texts complete "GPU 3 ...".
struct Layout {
  std::optional<nvml::DeviceAttributes> attributes{};  // of each MIG device; none: the GPU is whole
  std::string text{};                                  // "has MIG devices 1g.10gb"
  std::string trouble{};                               // why it equals no other, if so
};

Layout LayoutOf(const Gpu& gpu, const ClaimedPart& part) {
  if (part.whole) return {.text = "is not in MIG mode"};
  if (std::string trouble = gpu.mig.Trouble(); !trouble.empty()) {
    return {.trouble = std::move(trouble)};
  }
  if (part.devices.empty()) {
    return {.trouble =
                "is in MIG mode and has no MIG devices: make some with 'nvidia-smi mig', or "
                "end its MIG mode"};
  }
  const MigDevice& first = gpu.mig.devices[part.devices.front()];
  bool alike = true;
  std::set<std::string> profiles;
  for (const size_t i : part.devices) {
    alike &= gpu.mig.devices[i].attributes == first.attributes;
    profiles.insert(gpu.mig.devices[i].profile);
  }
  if (alike) return {first.attributes, "has MIG devices " + first.profile, {}};
  const std::vector<std::string> names(profiles.begin(), profiles.end());
  return {.trouble = fmt::format("has MIG devices that differ ({}): make them all alike, or give "
                                 "each profile a resource of its own (migStrategy 'mixed')",
                                 Join(names, ", "))};
}

}  // namespace

bool Fits(const NvidiaConfig::Selector& selector, const Gpu& gpu) {
  return (selector.index.empty() || selector.index == std::to_string(gpu.index)) &&
         (selector.uuid.empty() || selector.uuid == gpu.uuid) &&
         (selector.model.empty() || Fits(selector.model, gpu.model)) &&
         (selector.numa.empty() || selector.numa == std::to_string(gpu.numa));
}

bool FitsProfile(const std::string& pattern, std::string_view profile) {
  return Fits(pattern, std::string(profile)) || Fits(pattern, config::ProfileInName(profile));
}

ClaimedPart ClaimedPartOf(const NvidiaConfig& config, const Gpu& gpu) {
  if (IsDisplay(gpu)) return {};
  const Claim claim = ClaimOf(config);
  const std::vector<size_t> free = FreeDevices(config, gpu);
  ClaimedPart part;
  part.whole =
      TakesWhole(claim, gpu) && !IsTaken(config, gpu) && free.size() == gpu.mig.devices.size();
  for (const size_t i : free) {
    if (TakesDevice(claim, gpu, gpu.mig.devices[i])) part.devices.push_back(i);
  }
  return part;
}

bool MayBePartOf(const NvidiaConfig& config, unsigned index) {
  return config.mig.empty() && ClaimedPartOf(config, {.index = index}).whole;
}

std::map<unsigned, std::string> MisdividedGpus(const NvidiaConfig& config,
                                               const std::map<unsigned, Gpu>& gpus) {
  if (!config.mig.empty() || config.in_mig_mode != InMigMode::kDevices) return {};
  std::map<unsigned, Layout> layouts;
  for (const auto& [index, gpu] : gpus) {
    const ClaimedPart part = ClaimedPartOf(config, gpu);
    const bool fits = part.whole || !part.devices.empty();
    const bool bare = gpu.mig.enabled && gpu.mig.devices.empty() && !IsDisplay(gpu) &&
                      Selects(ClaimOf(config), gpu) && !IsTaken(config, gpu);
    if (fits || bare) layouts[index] = LayoutOf(gpu, part);
  }
  std::optional<unsigned> usual;  // a GPU with the usual division
  std::ptrdiff_t most = 0;
  for (const auto& [index, layout] : layouts) {
    if (!layout.trouble.empty()) continue;
    const std::ptrdiff_t alike = std::ranges::count_if(layouts, [&](const auto& other) {
      return other.second.trouble.empty() && other.second.attributes == layout.attributes;
    });
    if (alike <= most) continue;
    usual = index;
    most = alike;
  }
  std::map<unsigned, std::string> odd;
  for (const auto& [index, layout] : layouts) {
    if (!layout.trouble.empty()) {
      odd[index] = fmt::format("GPU {} {}", index, layout.trouble);
    } else if (layout.attributes != layouts[*usual].attributes) {
      odd[index] = fmt::format(
          "GPU {} {}, but GPU {} {}: divide all alike, or give each profile a "
          "resource of its own (migStrategy 'mixed')",
          index, layout.text, *usual, layouts[*usual].text);
    }
  }
  return odd;
}

}  // namespace tessera::nvidia
