// SPDX-License-Identifier: Apache-2.0
// The messages between kube-scheduler and its extender (k8s.io/kube-scheduler/extender/v1),
// unchanged since Kubernetes 1.22. Pure. Plain data. Any thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/json.h"
#include "kube/objects/pod.h"

namespace tessera::scheduler {

// ExtenderArgs: which of these nodes fit the pod?
struct FilterCall {
  kube::Pod pod{};
  std::vector<std::string_view> nodes{};
  // Owns the text of `nodes`: one buffer for thousands of names.
  std::shared_ptr<const std::string> names{};
  // The call carries whole Node objects. A cluster autoscaler sends such calls, and never binds the
  // pod.
  bool simulated = false;
};
// kInvalid if the body is not such a call.
Result<FilterCall> ReadFilterCall(std::string_view body, const kube::PodFields& wanted);

// ExtenderFilterResult. A node in no list does not fit either.
struct FilterAnswer {
  std::vector<std::string> nodes{};
  std::map<std::string, std::string> failed{};        // evicting pods could help
  std::map<std::string, std::string> unresolvable{};  // evicting pods cannot help
  // The call failed; kube-scheduler retries.
  std::string error{};
  // For an event: why no node fits. Empty if the reason is unchanged.
  std::string news{};
};
json::Value FilterAnswerJson(const FilterAnswer& answer);

// HostPriorityList, from scores by node name.
json::Value ScoresJson(const std::map<std::string, int64_t, std::less<>>& scores);

// MetaVictims: pods that would be evicted from a node.
struct Victims {
  std::vector<std::string> uids{};
  int64_t violations = 0;  // of PodDisruptionBudgets
  bool operator==(const Victims&) const = default;
};
using VictimsByNode = std::map<std::string, Victims>;
// ExtenderPreemptionArgs: which of these nodes fit the pod without their victims?
struct PreemptCall {
  kube::Pod pod{};
  VictimsByNode nodes{};
};
// kInvalid if the body is not such a call or has whole pods. Kube-scheduler sends whole pods only
// to an extender that is not nodeCacheCapable.
Result<PreemptCall> ReadPreemptCall(std::string_view body, const kube::PodFields& wanted);
// ExtenderPreemptionResult.
json::Value PreemptAnswerJson(const VictimsByNode& nodes);

// ExtenderBindingArgs.
struct BindCall {
  std::string pod_namespace{};
  std::string pod{};
  std::string uid{};
  std::string node{};
};
// kInvalid if the body is not such a call or lacks a member.
Result<BindCall> ReadBindCall(std::string_view body);
// ExtenderBindingResult. An empty error means that the pod is bound.
json::Value BindAnswerJson(std::string_view error);

}  // namespace tessera::scheduler
