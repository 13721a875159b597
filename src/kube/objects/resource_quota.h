// SPDX-License-Identifier: Apache-2.0
// A ResourceQuota (core/v1): limits for all pods of a namespace together. Pure. Plain data. Any
// thread.
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
  // From spec.scopes, with operation "Exists", and from spec.scopeSelector.
  struct Scope {
    std::string name{};       // "Terminating", "PriorityClass", ...
    std::string operation{};  // "In", "NotIn", "Exists", "DoesNotExist"
    std::vector<std::string> values{};
    bool operator==(const Scope&) const = default;
  };

  std::string quota_namespace{};
  std::string name{};
  Texts hard{};  // text by resource: "16k"
  std::vector<Scope> scopes{};

  // Whether the quota covers the pod: all scopes match. A quota with an unknown scope covers none.
  bool Counts(const QuotaFacts& pod) const;
  bool operator==(const ResourceQuota&) const = default;
};

// The form of quotas for reading, with limits of these resources.
Form ResourceQuotaForm(const Which& resource);

// kInvalid with the quota's name and the malformed field.
Result<ResourceQuota> ReadResourceQuota(const json::Value& object, const Which& resource);

size_t CostOf(const ResourceQuota& quota);

}  // namespace tessera::kube
