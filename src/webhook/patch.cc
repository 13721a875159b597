// SPDX-License-Identifier: Apache-2.0
#include "webhook/patch.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "webhook/container_patch.h"

namespace tessera::webhook {
namespace {

// Node selector terms are alternatives, so each one gets the label. Empty terms match no node and
// stay as they are, since the label would make them match.
void AddNodeLabel(const NewPod& pod, const std::string& label, json::Array& patch) {
  if (label.empty() || std::ranges::find(pod.selected_labels, label) != pod.selected_labels.end()) {
    return;
  }
  const json::Object expression{{"key", label}, {"operator", "Exists"}};
  const json::Object term{{"matchExpressions", json::Array{expression}}};
  const json::Object required{{"nodeSelectorTerms", json::Array{term}}};
  const json::Object of_node{{"requiredDuringSchedulingIgnoredDuringExecution", required}};
  const NodeTerms& there = pod.node_terms;
  const std::string base = "/spec/affinity";
  if (!there.affinity) return patch.push_back(Add(base, json::Object{{"nodeAffinity", of_node}}));
  if (!there.node_affinity) return patch.push_back(Add(base + "/nodeAffinity", of_node));
  const std::string path = base + "/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
  if (!there.required) return patch.push_back(Add(path, required));
  for (size_t i = 0; i < there.terms.size(); ++i) {
    const NodeTerm& one = there.terms[i];
    const bool has = std::ranges::find(one.labels_had, label) != one.labels_had.end();
    if (one.empty || has) continue;
    const std::string list = fmt::format("{}/nodeSelectorTerms/{}/matchExpressions", path, i);
    patch.push_back(one.has_expressions ? Add(list + "/-", expression)
                                        : Add(list, json::Array{expression}));
  }
}

}  // namespace

json::Array PatchOf(const NewPod& pod, const Rules& rules, const DeviceRules& devices) {
  json::Array patch;
  if (pod.node.empty()) {
    if (std::ranges::find(rules.schedulers, pod.scheduler) == rules.schedulers.end()) {
      patch.push_back(AddText("/spec/schedulerName", rules.schedulers.front()));
    }
    AddNodeLabel(pod, rules.node_label, patch);
  }
  if (pod.runtime_class.empty() && !devices.runtime_class.empty()) {
    patch.push_back(AddText("/spec/runtimeClassName", devices.runtime_class));
  }
  for (const NewContainer& container : pod.containers) {
    AddAmounts(container, devices, patch);
    AddVariables(container, devices, patch);
  }
  return patch;
}

}  // namespace tessera::webhook
