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

// A limit in units of `factor`. An unreadable value is no limit, because the API server accepts no
// such quota.
int64_t LimitIn(const kube::ResourceQuota& quota, const std::string& name, int64_t factor) {
  const auto limit = quota.hard.find(name);
  if (limit == quota.hard.end()) return kNoLimit;
  const auto amount = WholeQuantity(limit->second);
  if (!amount) {
    log::Warn("a limit of a ResourceQuota is not a whole number and is ignored",
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
    : rules_(rules), memory_(LimitName(rules.memory_name)), cores_(LimitName(rules.cores_name)) {}

bool Quotas::Reads(std::string_view name) const {
  return !name.empty() && (name == memory_ || name == cores_);
}

void Quotas::Amounts::Add(const Amounts& more, int64_t sign) {
  memory += sign * more.memory;
  cores += sign * more.cores;
}

void Quotas::Add(const Taken& one, int64_t sign) {
  Namespace& space = one.space->second;
  space.sum.Add(one.amounts, sign);
  for (auto& [name, quota] : space.quotas) {
    if (quota.object.Counts(one.facts)) quota.taken.Add(one.amounts, sign);
  }
}

void Quotas::Put(const kube::ResourceQuota& object) {
  if (object.hard.empty()) return Remove(object);
  const auto space = namespaces_.try_emplace(object.quota_namespace).first;
  const int64_t factor = std::max(rules_.memory_factor, 1);
  Quota quota{.object = object,
              .limits = {LimitIn(object, memory_, factor), LimitIn(object, cores_, 1)},
              .taken = {},
              .no_memory = WhyNoMore(object, memory_),
              .no_cores = WhyNoMore(object, cores_)};
  for (const auto& [uid, taken] : taken_) {
    if (taken.space == space && object.Counts(taken.facts)) quota.taken.Add(taken.amounts, 1);
  }
  space->second.quotas[object.name] = std::move(quota);
}

void Quotas::Remove(const kube::ResourceQuota& quota) {
  const auto space = namespaces_.find(quota.quota_namespace);
  if (space == namespaces_.end()) return;
  space->second.quotas.erase(quota.name);
  ForgetEmpty(space);
}

void Quotas::ForgetEmpty(Namespaces::iterator space) {
  if (space->second.quotas.empty() && space->second.takers == 0) namespaces_.erase(space);
}

void Quotas::Take(const kube::Pod& pod, const UsageByDevice& usage) {
  Release(pod.uid);
  const auto space = namespaces_.try_emplace(pod.pod_namespace).first;
  ++space->second.takers;
  Add(taken_.emplace(pod.uid, Taken{space, pod.quota, SumOf(usage)}).first->second, 1);
}

void Quotas::Release(const std::string& uid) {
  const auto taken = taken_.extract(uid);
  if (!taken) return;
  Add(taken.mapped(), -1);
  --taken.mapped().space->second.takers;
  ForgetEmpty(taken.mapped().space);
}

bool Quotas::HasAny(const std::string& space) const {
  const auto found = namespaces_.find(space);
  return found != namespaces_.end() && !found->second.quotas.empty();
}

const std::string* Quotas::WhyNot(const kube::Pod& pod, const UsageByDevice& more) const {
  const auto space = namespaces_.find(pod.pod_namespace);
  if (space == namespaces_.end()) return nullptr;
  for (const auto& [name, quota] : space->second.quotas) {
    if (!quota.object.Counts(pod.quota)) continue;
    Amounts sum = SumOf(more);
    sum.Add(quota.taken, 1);
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
    if (least.memory != kNoLimit) each({name, rules_.memory_name, space.sum.memory, least.memory});
    if (least.cores != kNoLimit) each({name, rules_.cores_name, space.sum.cores, least.cores});
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
