// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/worth.h"

#include <algorithm>

#include "base/text.h"
#include "share/share.h"

namespace tessera::demo {
namespace {

constexpr int kWhole = 100;  // percent

}  // namespace

void Worth::Learn(const Observation& observation) {
  if (const auto* hardware = std::get_if<HardwareMade>(&observation.what)) {
    names_.Learn(hardware->devices);
  } else if (const auto* configured = std::get_if<Configured>(&observation.what)) {
    if (!configured->broken) vgpus_ = configured->vgpus;
  } else if (const auto* ended = std::get_if<PodEnded>(&observation.what)) {
    std::erase_if(given_,
                  [&](const auto& given) { return std::get<0>(given.first) == ended->pod; });
  } else if (const auto* read = std::get_if<LimitsRead>(&observation.what)) {
    for (const ContainerLimits& limits : read->containers) {
      if (limits.variables.empty()) continue;
      given_.try_emplace({limits.pod, limits.container, limits.resource},
                         Of(limits.resource, limits.ids));
    }
  }
}

std::vector<Fraction> Worth::Of(const std::string& resource,
                                const std::vector<std::string>& ids) const {
  const auto found = vgpus_.find(resource);
  if (found == vgpus_.end()) return {};
  const FractionRules& vgpu = found->second.division;
  std::map<std::string, Fraction, NaturalLess> parts;  // by index
  std::map<std::string, int> shares;                   // by device
  for (const std::string& id : ids) {
    const std::string device = DeviceOfShare(id);
    Fraction& part = parts[names_.Of(device)];
    part.device = device;
    const auto number = static_cast<size_t>(ReplicaOfShare(id).value_or(0));
    if (number < vgpu.sizes.size()) {
      part.memory += vgpu.sizes[number].memory;
      part.cores = std::min(part.cores + vgpu.sizes[number].cores, kWhole);
    } else {
      const int count = ++shares[device];
      part.memory = MemoryOf(device) * count / vgpu.parts;
      part.cores = std::max(kWhole * count / vgpu.parts, 1);
    }
  }
  std::vector<Fraction> list;
  for (auto& [index, part] : parts) list.push_back(std::move(part));
  return list;
}

std::vector<Fraction> Worth::Given(const ContainerLimits& limits) const {
  const auto given = given_.find({limits.pod, limits.container, limits.resource});
  return given == given_.end() ? Of(limits.resource, limits.ids) : given->second;
}

int64_t Worth::MemoryOf(const std::string& device) const {
  const HardwareDevice* known = names_.Find(device);
  return known == nullptr ? 0 : known->memory;
}

std::vector<PodUse> Worth::TakenOf(const std::string& device) const {
  std::vector<PodUse> taken;
  for (const auto& [key, parts] : given_) {
    for (const Fraction& part : parts) {
      if (part.device != device) continue;
      const std::string& pod = std::get<0>(key);
      if (taken.empty() || taken.back().pod != pod) taken.push_back({.pod = pod});
      taken.back().memory += part.memory;
      taken.back().cores += part.cores;
    }
  }
  return taken;
}

}  // namespace tessera::demo
