// SPDX-License-Identifier: Apache-2.0
// A pod, reduced to its devices (core/v1). Hundreds are kept, so only requested parts are read.
// Pure. Plain data. Any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/json.h"
#include "kube/objects/form.h"
#include "kube/objects/members.h"

namespace tessera::kube {

struct Container {
  enum class Kind : uint8_t {
    kInit,
    kSidecar,  // init container with restartPolicy: Always
    kApp,
  };
  std::string name{};
  Kind kind = Kind::kApp;
  Texts limits{};    // text by resource: "1", "3000M"
  Texts requests{};  // as `limits`
  Texts variables{};
  bool succeeded = false;  // init container that has succeeded

  // Whether it requests any kept resource.
  bool Asks() const { return !limits.empty() || !requests.empty(); }
  bool operator==(const Container&) const = default;
};

// The facts of a pod that quota scopes need (resource_quota.h).
struct QuotaFacts {
  bool deadline = false;     // spec.activeDeadlineSeconds
  bool best_effort = false;  // no container requests CPU or memory
  std::string priority_class{};
  bool operator==(const QuotaFacts&) const = default;
};

struct Pod {
  enum class Phase : uint8_t { kUnknown, kPending, kRunning, kSucceeded, kFailed };

  std::string uid{};
  std::string pod_namespace{};
  std::string name{};
  std::string node{};              // empty: not bound
  std::string resource_version{};  // of this state
  // For a mirror pod, the UID by which kubelet knows its static pod. Otherwise empty.
  std::string mirrored{};
  Phase phase = Phase::kUnknown;
  bool deleting = false;
  Texts labels{};
  Texts annotations{};
  std::vector<Container> containers{};  // init containers first, in order; no ephemeral containers
  QuotaFacts quota{};
  bool prefers_nodes = false;  // preferred affinity, or ScheduleAnyway
  // Describes parts above their bound, which are not kept. Empty: none. No decision uses a pod with
  // an excess.
  std::string excess{};

  // The UID by which kubelet knows the pod.
  const std::string& KubeletUid() const { return mirrored.empty() ? uid : mirrored; }
  // "NAMESPACE/NAME".
  std::string FullName() const { return pod_namespace + "/" + name; }
  // Empty if there is no such annotation.
  std::string_view Annotation(std::string_view key) const {
    const auto found = annotations.find(key);
    return found == annotations.end() ? std::string_view() : found->second;
  }
  // True if no container will run again.
  bool HasEnded() const { return phase == Phase::kSucceeded || phase == Phase::kFailed; }
  bool operator==(const Pod&) const = default;
};

using PodPtr = std::shared_ptr<const Pod>;

// The optional parts of a pod to keep.
struct PodFields {
  std::vector<std::string> keys{};  // prefixes of label and annotation keys
  Which resource{};
  // Environment variables of containers. A variable with valueFrom counts as absent.
  Which variable{};
  bool quota = false;        // keep QuotaFacts
  bool preferences = false;  // keep prefers_nodes
};

// The form of pods for reading.
Form PodForm(const PodFields& wanted);

// kInvalid with the pod's name and the malformed field. Missing or null members are empty. If
// `wanted` has resources, a pod that requests none of them keeps no labels, annotations or
// containers.
Result<Pod> ReadPod(const json::Value& object, const PodFields& wanted);

// Approximate bytes of the parts that a user can make arbitrarily large.
size_t CostOf(const Pod& pod);

// The UID by which kubelet knows a possibly incomplete pod object, or empty.
std::string KubeletUidIn(const json::Value& object);

}  // namespace tessera::kube
