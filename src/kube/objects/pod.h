// SPDX-License-Identifier: Apache-2.0
// A pod, as far as its devices are concerned (core/v1): what is not asked for is left where it was
// read, for hundreds of them are kept. Plain data; pure; any thread.
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
    kSidecar,  // an init container that runs on (restartPolicy: Always)
    kApp,
  };
  std::string name{};
  Kind kind = Kind::kApp;
  Texts limits{};    // by resource, as they are written: "1", "3000M"
  Texts requests{};  // the same
  Texts variables{};
  bool succeeded = false;  // an init container that has done its work

  // For one of the resources that are kept.
  bool Asks() const { return !limits.empty() || !requests.empty(); }
  bool operator==(const Container&) const = default;
};

// Of a pod, what the scopes of quotas ask (resource_quota.h).
struct QuotaFacts {
  bool deadline = false;     // spec.activeDeadlineSeconds
  bool best_effort = false;  // no container asks for CPU or memory
  std::string priority_class{};
  bool operator==(const QuotaFacts&) const = default;
};

struct Pod {
  enum class Phase : uint8_t { kUnknown, kPending, kRunning, kSucceeded, kFailed };

  std::string uid{};
  std::string pod_namespace{};
  std::string name{};
  std::string node{};              // empty: it is not placed yet
  std::string resource_version{};  // of this state
  // Of a mirror pod: the UID that kubelet knows its static pod by. Empty for all others.
  std::string mirrored{};
  Phase phase = Phase::kUnknown;
  bool deleting = false;
  Texts labels{};
  Texts annotations{};
  std::vector<Container> containers{};  // init containers first, as they run; no ephemeral ones
  QuotaFacts quota{};
  bool prefers_nodes = false;  // it would rather have some: preferred affinity, or ScheduleAnyway
  // What of it is over its bound, and not kept, in words; empty: nothing. Nobody decides by such a
  // pod.
  std::string excess{};

  // The UID that kubelet knows it by.
  const std::string& KubeletUid() const { return mirrored.empty() ? uid : mirrored; }
  // "NAMESPACE/NAME", as messages name it.
  std::string FullName() const { return pod_namespace + "/" + name; }
  // Empty where it has none of that key.
  std::string_view Annotation(std::string_view key) const {
    const auto found = annotations.find(key);
    return found == annotations.end() ? std::string_view() : found->second;
  }
  // None of its containers will run again.
  bool HasEnded() const { return phase == Phase::kSucceeded || phase == Phase::kFailed; }
  bool operator==(const Pod&) const = default;
};

using PodPtr = std::shared_ptr<const Pod>;

// What of a pod is kept besides what each has.
struct PodFields {
  std::vector<std::string> keys{};  // what keys of labels and annotations begin with
  Which resource{};
  // Environment variables of containers: those with a value. One that is taken from elsewhere
  // (valueFrom) is none.
  Which variable{};
  bool quota = false;        // what quotas ask of it
  bool preferences = false;  // whether it prefers nodes
};

// What of pods is kept while they are read.
Form PodForm(const PodFields& wanted);

// kInvalid with the pod's name and the field where it is not as Kubernetes has it. What Kubernetes
// leaves out, or null, is empty. Where `wanted` has resources, a pod that asks for none of them is
// kept without labels, annotations and containers.
Result<Pod> ReadPod(const json::Value& object, const PodFields& wanted);

// About the memory that all of it takes which its maker could make of any size.
size_t CostOf(const Pod& pod);

// Of an object that need not be whole: the UID that kubelet knows it by; empty where there is none.
std::string KubeletUidIn(const json::Value& object);

}  // namespace tessera::kube
