// SPDX-License-Identifier: Apache-2.0
// Limits on what a namespace's pods may have together: ResourceQuotas with a limit of memory or
// compute time, as in HAMi. Kubernetes counts requests. These quotas count allocations, because a
// percentage has a size only once a device is chosen.
// No I/O. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "kube/objects/pod.h"
#include "kube/objects/resource_quota.h"
#include "placement/capacity.h"
#include "placement/requests.h"

namespace tessera::scheduler {

class Quotas {
 public:
  explicit Quotas(const RequestRules& rules);
  Quotas(Quotas&&) = default;  // its iterators survive a move

  // Whether `name` is a limit that these quotas read.
  bool Reads(std::string_view name) const;

  void Put(const kube::ResourceQuota& quota);
  void Remove(const kube::ResourceQuota& quota);
  // Replaces the pod's counted allocation or hold.
  void Take(const kube::Pod& pod, const UsageByDevice& usage);
  void Release(const std::string& uid);

  // Whether the namespace has any quota that may apply.
  bool HasAny(const std::string& space) const;
  // Why the pod cannot get `more`, with the quota's name; null if it can. Valid until the next Put.
  const std::string* WhyNot(const kube::Pod& pod, const UsageByDevice& more) const;

  // A namespace's limit and use of one resource. The limit is the lowest of the quotas without
  // scopes.
  struct Limit {
    std::string space;
    std::string resource;
    int64_t used = 0;
    int64_t most = 0;
    bool operator==(const Limit&) const = default;
  };
  void EachLimit(const std::function<void(const Limit&)>& each) const;

 private:
  // Memory in MiB, cores in percent.
  struct Amounts {
    int64_t memory = 0;
    int64_t cores = 0;
    void Add(const Amounts& more, int64_t sign);
  };
  struct Quota {
    kube::ResourceQuota object;
    Amounts limits;
    Amounts taken;          // by the pods in its scope
    std::string no_memory;  // message for people
    std::string no_cores;
  };
  struct Namespace {
    std::map<std::string, Quota> quotas;  // by name
    Amounts sum;                          // of its pods' allocations
    size_t takers = 0;
  };
  using Namespaces = std::map<std::string, Namespace>;
  struct Taken {
    Namespaces::iterator space;
    kube::QuotaFacts facts;
    Amounts amounts;
  };

  static void Add(const Taken& one, int64_t sign);
  void ForgetEmpty(Namespaces::iterator space);
  static Amounts SumOf(const UsageByDevice& usage);

  const RequestRules rules_;
  const std::string memory_;  // limits.NAME; empty: no such resource
  const std::string cores_;
  Namespaces namespaces_;
  std::unordered_map<std::string, Taken> taken_;  // by pod UID; tens of thousands
};

}  // namespace tessera::scheduler
