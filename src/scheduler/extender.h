// SPDX-License-Identifier: Apache-2.0
// What kube-scheduler and its extender say to each other (k8s.io/kube-scheduler/extender/v1), which
// is the same from Kubernetes 1.22 on. Pure; plain data; any thread.
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

// ExtenderArgs: which of these nodes can have the pod?
struct FilterCall {
  kube::Pod pod{};
  std::vector<std::string_view> nodes{};
  std::shared_ptr<const std::string> names{};  // whose parts they are: thousands, in one piece
  // Whole nodes came along, as where nobody will bind the pod: a cluster autoscaler asks so.
  bool simulated = false;
};
// kInvalid where it is none.
Result<FilterCall> ReadFilterCall(std::string_view body, const kube::PodFields& wanted);

// ExtenderFilterResult. Nodes that are in none of the lists cannot have it either.
struct FilterAnswer {
  std::vector<std::string> nodes{};
  std::map<std::string, std::string> failed{};        // pods that end, or are evicted, cure it
  std::map<std::string, std::string> unresolvable{};  // they do not
  std::string error{};                                // nobody knows; it is asked again
  std::string news{};  // for people: why none of the nodes can, where that was not so before
};
json::Value FilterAnswerJson(const FilterAnswer& answer);

// HostPriorityList, of scores by the node's name.
json::Value ScoresJson(const std::map<std::string, int64_t, std::less<>>& scores);

// MetaVictims: pods that would be evicted from a node.
struct Victims {
  std::vector<std::string> uids{};
  int64_t violations = 0;  // of disruption budgets
  bool operator==(const Victims&) const = default;
};
using VictimsByNode = std::map<std::string, Victims>;
// ExtenderPreemptionArgs: on which of these nodes does the pod fit once its victims are gone?
struct PreemptCall {
  kube::Pod pod{};
  VictimsByNode nodes{};
};
// kInvalid where it is none, or has whole pods: kube-scheduler sends those to an extender that is
// not nodeCacheCapable.
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
// kInvalid where it is none, or lacks a part.
Result<BindCall> ReadBindCall(std::string_view body);
// ExtenderBindingResult: empty where it is bound.
json::Value BindAnswerJson(std::string_view error);

}  // namespace tessera::scheduler
