// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/laws.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "config/schema/family.h"
#include "share/share.h"

namespace tessera::demo {
namespace {

using ContainerKind = kubelet::ContainerSpec::Kind;

ContainerKind ContainerKindOf(const kubelet::PodSpec& pod, const std::string& container) {
  for (const kubelet::ContainerSpec& spec : pod.containers) {
    if (spec.name == container) return spec.kind;
  }
  return ContainerKind::kApp;
}

// Whether two containers of one pod may hold a share. An init container ends before the app
// containers start, and kubelet passes its devices to them.
bool OneAfterTheOther(ContainerKind a, ContainerKind b) {
  return a == ContainerKind::kInit || b == ContainerKind::kInit;
}

// The devices of the shares, each once, ascending, GPUs by index: the environment's expected value.
std::string DevicesOf(const std::vector<std::string>& share_ids, const HardwareNames& names) {
  std::map<std::string, std::string, NaturalLess> devices;  // by name for people
  for (const std::string& share : share_ids) {
    const std::string id = DeviceOfShare(share);
    devices.emplace(names.Of(id), id);
  }
  std::vector<std::string> ids;
  for (const auto& [name, id] : devices) ids.push_back(id);
  return Join(ids, ",");
}

// The variable with the granted devices; a family's applies to all its resources. Empty: none.
std::string VariableOf(const std::string& resource,
                       const std::map<std::string, std::string>& envs) {
  for (const auto& [name, variable] : envs) {
    if (name == resource) return variable;
    if (config::IsFamily(name) && config::ProfileIn(name, resource)) return variable;
  }
  return "";
}

constexpr std::string_view kMemoryLimit = "CUDA_DEVICE_MEMORY_LIMIT_";
constexpr std::string_view kComputeLimit = "CUDA_DEVICE_SM_LIMIT";

// The limits as the library reads them: by the GPU's number, and the least compute time for all.
std::map<std::string, std::string> LimitsFor(const std::vector<Fraction>& parts) {
  std::map<std::string, std::string> limits;
  int cores = 100;
  for (size_t i = 0; i < parts.size(); ++i) {
    limits[fmt::format("{}{}", kMemoryLimit, i)] = fmt::format("{}m", parts[i].memory);
    limits[fmt::format("{}_{}", kComputeLimit, i)] = std::to_string(parts[i].cores);
    cores = std::min(cores, parts[i].cores);
  }
  limits[std::string(kComputeLimit)] = std::to_string(cores);
  return limits;
}

std::string LimitsText(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> limits;
  for (const auto& [name, value] : variables) {
    const bool limit = name.starts_with(kMemoryLimit) || name.starts_with(kComputeLimit);
    if (limit) limits.push_back(name + "=" + value);
  }
  return limits.empty() ? "nothing" : Join(limits, " ");
}

std::string LineOf(const std::string& pod, const std::string& container,
                   const std::string& resource, std::vector<std::string> ids) {
  std::sort(ids.begin(), ids.end(), NaturalLess());
  return fmt::format("{} {} holds {} {}", pod, container, resource, Join(ids, ","));
}

}  // namespace

std::string_view LawName(Law law) {
  switch (law) {
    case Law::kOneHolder:
      return "one-holder";
    case Law::kHealthyOnly:
      return "healthy-only";
    case Law::kExact:
      return "exact-grant";
    case Law::kHeldStays:
      return "held-stays";
    case Law::kNothingLost:
      return "nothing-lost";
    case Law::kExactLimits:
      return "exact-limits";
    case Law::kLedgerAgrees:
      return "ledger-agrees";
  }
  return "";
}

std::string_view LawText(Law law) {
  switch (law) {
    case Law::kOneHolder:
      return "no share is granted to two running containers";
    case Law::kHealthyOnly:
      return "no share is granted while it is Unhealthy";
    case Law::kExact:
      return "a container gets exactly what it asked for";
    case Law::kHeldStays:
      return "a device that a pod holds never leaves the list";
    case Law::kNothingLost:
      return "no restart loses a healthy device or makes it Unhealthy";
    case Law::kExactLimits:
      return "a container is limited to its virtual GPUs";
    case Law::kLedgerAgrees:
      return "the agent's ledger says what kubelet granted";
  }
  return "";
}

std::set<std::string> LedgerLines(const std::vector<Holding>& holdings) {
  std::set<std::string> lines;
  for (const Holding& holding : holdings) {
    if (holding.pod.empty()) continue;
    lines.insert(LineOf(PodText(holding.pod_namespace, holding.pod), holding.container,
                        holding.resource, holding.share_ids));
  }
  return lines;
}

std::vector<Breach> Laws::Check(const Observation& observation) {
  breaches_.clear();
  worth_.Learn(observation);
  if (const auto* tried = std::get_if<PodTried>(&observation.what)) {
    CheckPod(*tried);
    JudgeDoubts();
  } else if (const auto* ended = std::get_if<PodEnded>(&observation.what)) {
    for (auto& [share, holders] : holders_) {
      std::erase_if(holders, [&](const Holder& holder) { return holder.pod == ended->pod; });
    }
    std::erase_if(holders_, [](const auto& entry) { return entry.second.empty(); });
    std::erase_if(unstarted_, [&](const auto& container) { return container.first == ended->pod; });
  } else if (const auto* restarted = std::get_if<ContainerRestarted>(&observation.what)) {
    if (!restarted->error) unstarted_.erase({restarted->pod, restarted->container});
  } else if (const auto* fault = std::get_if<FaultMade>(&observation.what)) {
    Excuse(fault->fault.resource, fault->fault.device);
  } else if (const auto* hardware = std::get_if<HardwareMade>(&observation.what)) {
    names_.Learn(hardware->devices);
    if (!hardware->change) return {};
    for (const HardwareDevice& device : hardware->devices) Excuse("", device.id);
  } else if (const auto* cordon = std::get_if<CordonMade>(&observation.what)) {
    Excuse(cordon->cordon.resource, cordon->cordon.device);
  } else if (const auto* configured = std::get_if<Configured>(&observation.what)) {
    if (!configured->broken) {
      envs_ = configured->envs;
      paired_ = configured->paired;
      lists_.clear();  // a new count or division is no loss
    }
  } else if (const auto* told = std::get_if<KubeletTold>(&observation.what)) {
    if (told->event.kind == kubelet::KubeletEvent::Kind::kList) {
      for (const kubelet::ResourceStatus& resource : observation.resources) {
        if (resource.name == told->event.resource && resource.connected) CheckList(resource);
      }
    }
  } else if (const auto* limits = std::get_if<LimitsRead>(&observation.what)) {
    CheckLimits(*limits);
  } else if (const auto* ledger = std::get_if<LedgerRead>(&observation.what)) {
    CheckLedger(*ledger);
  }
  return std::move(breaches_);
}

void Laws::CheckPod(const PodTried& tried) {
  if (!tried.admission.admitted) return;
  for (const kubelet::ContainerGrant& grant : tried.admission.grants) {
    CheckGrant(tried, grant);
    CheckHolders(tried, grant);
    CheckExact(tried, grant);
  }
  for (const auto& [container, message] : tried.admission.start_failures) {
    unstarted_.insert({PodText(tried.pod.pod_namespace, tried.pod.name), container});
  }
}

void Laws::TurnedUnhealthy(const std::string& resource, const std::string& share) {
  if (IsOfAnother(resource, share)) return;
  if (paired_.contains(resource)) {
    doubts_.insert({resource, share});
  } else {
    BreakNothingLost(resource, share);
  }
}

void Laws::BreakNothingLost(const std::string& resource, const std::string& share) {
  Break(Law::kNothingLost,
        fmt::format("{} {} turned Unhealthy and nothing had happened to it", resource, share));
}

bool Laws::IsOfAnother(const std::string& resource, const std::string& share) const {
  return std::ranges::any_of(PartsOf(DeviceOfShare(share)), [&](const std::string& part) {
    const auto by = granted_.find(part);
    return by != granted_.end() && (by->second.size() > 1 || !by->second.contains(resource));
  });
}

void Laws::JudgeDoubts() {
  for (const auto& [resource, share] : doubts_) {
    if (!IsOfAnother(resource, share)) BreakNothingLost(resource, share);
  }
  doubts_.clear();
}

void Laws::CheckGrant(const PodTried& tried, const kubelet::ContainerGrant& grant) {
  Looked(Law::kHealthyOnly);
  for (const std::string& id : grant.ids) {
    if (!tried.sick.contains(grant.resource + " " + id)) continue;
    Break(Law::kHealthyOnly, fmt::format("{} {} was granted {} {}, which was Unhealthy",
                                         tried.pod.name, grant.container, grant.resource, id));
  }
}

void Laws::CheckHolders(const PodTried& tried, const kubelet::ContainerGrant& grant) {
  Looked(Law::kOneHolder);
  const std::string pod = PodText(tried.pod.pod_namespace, tried.pod.name);
  const ContainerKind kind = ContainerKindOf(tried.pod, grant.container);
  for (const std::string& id : grant.ids) {
    std::vector<Holder>& holders = holders_[{grant.resource, id}];
    for (const Holder& other : holders) {
      if (other.pod == pod && OneAfterTheOther(other.kind, kind)) continue;
      Break(Law::kOneHolder,
            fmt::format("{} {} was granted {} {}, which {} {} holds", pod, grant.container,
                        grant.resource, id, other.pod, other.container));
    }
    holders.push_back({pod, grant.container, kind});
    for (const std::string& part : PartsOf(DeviceOfShare(id))) {
      granted_[part].insert(grant.resource);
    }
  }
}

void Laws::CheckExact(const PodTried& tried, const kubelet::ContainerGrant& grant) {
  Looked(Law::kExact);
  const std::string who = fmt::format("{} {}", tried.pod.name, grant.container);
  for (const kubelet::ContainerSpec& spec : tried.pod.containers) {
    const auto limit = spec.limits.find(grant.resource);
    if (spec.name != grant.container || limit == spec.limits.end()) continue;
    const std::set<std::string> distinct(grant.ids.begin(), grant.ids.end());
    if (std::cmp_equal(distinct.size(), limit->second) && distinct.size() == grant.ids.size()) {
      continue;
    }
    Break(Law::kExact, fmt::format("{} asked for {} of {} and was granted {}", who, limit->second,
                                   grant.resource, Join(grant.ids, ",")));
  }
  const std::string variable = VariableOf(grant.resource, envs_);
  if (variable.empty()) return;
  const auto env = grant.response.envs.find(variable);
  const std::string wanted = DevicesOf(grant.ids, names_);
  const std::string said = env == grant.response.envs.end() ? "nothing" : env->second;
  if (said != wanted) {
    Break(Law::kExact, fmt::format("{} was granted {} of {}, but {} says {}", who, wanted,
                                   grant.resource, variable, said));
  }
}

void Laws::CheckList(const kubelet::ResourceStatus& resource) {
  List now;
  for (const kubelet::DeviceStatus& device : resource.devices) {
    now[device.id] = device.healthy;
    if (device.healthy) doubts_.erase({resource.name, device.id});
  }
  Looked(Law::kHeldStays);
  for (const auto& [share, holders] : holders_) {
    if (share.first != resource.name || now.contains(share.second)) continue;
    Break(Law::kHeldStays, fmt::format("{} {} left the list while {} holds it", share.first,
                                       share.second, holders.front().pod));
  }
  Looked(Law::kNothingLost);
  for (const auto& [id, healthy] : lists_[resource.name]) {
    const auto device = now.find(id);
    if (Excused(resource.name, id)) continue;
    if (device == now.end()) {
      Break(Law::kNothingLost,
            fmt::format("{} {} left the list and nothing had happened to it", resource.name, id));
    } else if (healthy && !device->second) {
      TurnedUnhealthy(resource.name, id);
    }
  }
  lists_[resource.name] = std::move(now);
}

void Laws::CheckLimits(const LimitsRead& read) {
  for (const ContainerLimits& limits : read.containers) {
    if (unstarted_.contains({limits.pod, limits.container})) continue;
    Looked(Law::kExactLimits);
    const std::string wanted = LimitsText(LimitsFor(worth_.Given(limits)));
    const std::string said = LimitsText(limits.variables);
    if (said == wanted) continue;
    Break(Law::kExactLimits,
          fmt::format("{} {} was granted {} of {}, worth {}, but is limited to {}", limits.pod,
                      limits.container, Join(limits.ids, ","), limits.resource, wanted, said));
  }
}

void Laws::CheckLedger(const LedgerRead& read) {
  JudgeDoubts();
  Looked(Law::kLedgerAgrees);
  using Key = std::tuple<std::string, std::string, std::string>;  // pod, container, resource
  std::map<Key, std::vector<std::string>> ids;
  for (const auto& [share, holders] : holders_) {
    for (const Holder& holder : holders) {
      if (holder.kind == ContainerKind::kInit) continue;
      ids[{holder.pod, holder.container, share.first}].push_back(share.second);
    }
  }
  std::set<std::string> granted;
  for (const auto& [key, shares] : ids) {
    granted.insert(LineOf(std::get<0>(key), std::get<1>(key), std::get<2>(key), shares));
  }
  const std::set<std::string> known = LedgerLines(read.holdings);
  for (const std::string& line : granted) {
    if (!known.contains(line)) Break(Law::kLedgerAgrees, line + " according to kubelet only");
  }
  for (const std::string& line : known) {
    if (!granted.contains(line)) {
      Break(Law::kLedgerAgrees, line + " according to the ledger only");
    }
  }
}

void Laws::Excuse(const std::string& resource, const std::string& device) {
  excused_.insert({resource, device});
}

bool Laws::Excused(const std::string& resource, const std::string& share) const {
  const std::string device = DeviceOfShare(share);
  if (excused_.contains({resource, ""}) || excused_.contains({resource, device})) return true;
  // What happens to a part in its own resource happens to the pair.
  const std::vector<std::string> parts = PartsOf(device);
  return std::ranges::any_of(excused_, [&](const ShareKey& one) {
    return (one.first.empty() || parts.size() > 1) && std::ranges::count(parts, one.second) > 0;
  });
}

}  // namespace tessera::demo
