// SPDX-License-Identifier: Apache-2.0
// What the pods of a namespace may have of devices together: ResourceQuotas with a limit of memory
// or compute time, as HAMi means them. Kubernetes counts what pods write; here counts what they
// have, of which a percentage is known once there is a device. No I/O; one thread.
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
  Quotas(Quotas&&) = default;  // what it holds refers to itself

  // Whether the limits of a quota have this name.
  bool Reads(std::string_view name) const;

  void Put(const kube::ResourceQuota& quota);
  void Remove(const kube::ResourceQuota& quota);
  // What the pod has, or has room held: in place of what it had.
  void Take(const kube::Pod& pod, const UsageByDevice& usage);
  void Release(const std::string& uid);

  // Whether a quota is there that may be about pods of the namespace.
  bool HasAny(const std::string& space) const;
  // Why the pod cannot have so much more, and the quota's name; null: it can. It lives until the
  // next Put.
  const std::string* WhyNot(const kube::Pod& pod, const UsageByDevice& more) const;

  // What all pods of a namespace may have of a resource, and have: the least of the quotas without
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
  // MiB of devices, and percent.
  struct Amounts {
    int64_t memory = 0;
    int64_t cores = 0;
    void Add(const Amounts& more, int64_t sign);
  };
  struct Quota {
    kube::ResourceQuota object;
    Amounts limits;
    Amounts taken;          // by the pods that it is about
    std::string no_memory;  // in words
    std::string no_cores;
  };
  struct Namespace {
    std::map<std::string, Quota> quotas;  // by name
    Amounts sum;                          // of what its pods have
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
  const std::string memory_;  // limits.NAME; empty: no pod can ask for it
  const std::string cores_;
  Namespaces namespaces_;
  std::unordered_map<std::string, Taken> taken_;  // by the pod's UID: tens of thousands
};

}  // namespace tessera::scheduler
