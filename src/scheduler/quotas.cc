// SPDX-License-Identifier: Apache-2.0
#include "scheduler/quotas.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/log.h"
#include "placement/quantity.h"

namespace tessera::scheduler {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

std::string LimitName(const std::string& resource) {
  return resource.empty() ? "" : "limits." + resource;
}

// In so many MiB, or percent, each. What cannot be read limits nothing: the API server takes no
// such quota.
int64_t LimitIn(const kube::ResourceQuota& quota, const std::string& name, int64_t factor) {
  const auto limit = quota.hard.find(name);
  if (limit == quota.hard.end()) return kNoLimit;
  const auto amount = WholeQuantity(limit->second);
  if (!amount) {
    log::Warn("a limit of a ResourceQuota is no whole number: it limits nothing",
              {{"namespace", quota.quota_namespace}, {"quota", quota.name}, {"limit", name}});
  }
  return !amount || *amount > kNoLimit / factor ? kNoLimit : *amount * factor;
}

std::string WhyNoMore(const kube::ResourceQuota& quota, const std::string& name) {
  return fmt::format("the pod's namespace has too little {} left in its ResourceQuota {}", name,
                     quota.name);
}

}  // namespace

Quotas::Quotas(const RequestRules& rules)
    : rules_(rules),
      memory_(LimitName(rules.memory_name)),
      cores_(LimitName(rules.cores_name)),
      memory_factor_(std::max(rules.memory_factor, 1)) {}

bool Quotas::Reads(std::string_view name) const {
  return !name.empty() && (name == memory_ || name == cores_);
}

void Quotas::Put(const kube::ResourceQuota& quota) {
  if (quota.hard.empty()) return Remove(quota);
  namespaces_[quota.quota_namespace].quotas[quota.name] = {
      .object = quota,
      .limits = {LimitIn(quota, memory_, memory_factor_), LimitIn(quota, cores_, 1)},
      .no_memory = WhyNoMore(quota, memory_),
      .no_cores = WhyNoMore(quota, cores_)};
}

void Quotas::Remove(const kube::ResourceQuota& quota) {
  const auto space = namespaces_.find(quota.quota_namespace);
  if (space == namespaces_.end()) return;
  space->second.quotas.erase(quota.name);
  if (space->second.quotas.empty() && space->second.taken.empty()) namespaces_.erase(space);
}

void Quotas::Take(const kube::Pod& pod, const UsageByDevice& usage) {
  Release(pod.uid);
  namespaces_[pod.pod_namespace].taken.emplace(pod.uid, Taken{pod.quota, SumOf(usage)});
  takers_.emplace(pod.uid, pod.pod_namespace);
}

void Quotas::Release(const std::string& uid) {
  const auto taker = takers_.find(uid);
  if (taker == takers_.end()) return;
  const auto space = namespaces_.find(taker->second);
  takers_.erase(taker);
  space->second.taken.erase(uid);
  if (space->second.quotas.empty() && space->second.taken.empty()) namespaces_.erase(space);
}

const std::string* Quotas::WhyNot(const kube::Pod& pod, const UsageByDevice& more) const {
  const auto space = namespaces_.find(pod.pod_namespace);
  if (space == namespaces_.end()) return nullptr;
  for (const auto& [name, quota] : space->second.quotas) {
    if (!quota.object.Counts(pod.quota)) continue;
    Amounts sum = SumOf(more);
    for (const auto& [uid, taken] : space->second.taken) {
      if (!quota.object.Counts(taken.facts)) continue;
      sum.memory += taken.amounts.memory;
      sum.cores += taken.amounts.cores;
    }
    if (sum.memory > quota.limits.memory) return &quota.no_memory;
    if (sum.cores > quota.limits.cores) return &quota.no_cores;
  }
  return nullptr;
}

void Quotas::EachLimit(const std::function<void(const Limit&)>& each) const {
  for (const auto& [name, space] : namespaces_) {
    Amounts least{kNoLimit, kNoLimit};
    for (const auto& [quota_name, quota] : space.quotas) {
      if (!quota.object.scopes.empty()) continue;
      least.memory = std::min(least.memory, quota.limits.memory);
      least.cores = std::min(least.cores, quota.limits.cores);
    }
    Amounts used;
    for (const auto& [uid, taken] : space.taken) {
      used.memory += taken.amounts.memory;
      used.cores += taken.amounts.cores;
    }
    if (least.memory != kNoLimit) each({name, rules_.memory_name, used.memory, least.memory});
    if (least.cores != kNoLimit) each({name, rules_.cores_name, used.cores, least.cores});
  }
}

Quotas::Amounts Quotas::SumOf(const UsageByDevice& usage) {
  Amounts sum;
  for (const auto& [device, used] : usage) {
    sum.memory += used.memory;
    sum.cores += used.cores;
  }
  return sum;
}

}  // namespace tessera::scheduler
