// SPDX-License-Identifier: Apache-2.0
// A ResourceQuota (core/v1): what the pods of a namespace may have of a resource together. Plain
// data; pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "json/json.h"
#include "kube/objects/form.h"
#include "kube/objects/members.h"
#include "kube/objects/pod.h"

namespace tessera::kube {

struct ResourceQuota {
  // Of spec.scopes, and of spec.scopeSelector; the former are as "Exists".
  struct Scope {
    std::string name{};       // "Terminating", "PriorityClass", ...
    std::string operation{};  // "In", "NotIn", "Exists", "DoesNotExist"
    std::vector<std::string> values{};
    bool operator==(const Scope&) const = default;
  };

  std::string quota_namespace{};
  std::string name{};
  Texts hard{};  // by resource, as it is written: "16k"
  std::vector<Scope> scopes{};

  // Whether it is about the pod: all scopes are. One of a scope that is not known is about none.
  bool Counts(const QuotaFacts& pod) const;
  bool operator==(const ResourceQuota&) const = default;
};

// What of quotas is kept while they are read: limits of these resources.
Form ResourceQuotaForm(const Which& resource);

// kInvalid with the quota's name and the field where it is not as Kubernetes has it.
Result<ResourceQuota> ReadResourceQuota(const json::Value& object, const Which& resource);

size_t CostOf(const ResourceQuota& quota);

}  // namespace tessera::kube
