// SPDX-License-Identifier: Apache-2.0
#include "webhook/refusals.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/quote.h"
#include "base/text.h"
#include "hami/names.h"
#include "kube/objects/pod.h"
#include "placement/quantity.h"
#include "placement/request_check.h"

namespace tessera::webhook {
namespace {

constexpr std::string_view kNodes = "system:nodes";

constexpr std::array kProtocolKeys = {hami::kPodNode,           hami::kPodTime,
                                      hami::kPodMigAllocations, hami::kPodCuAllocated,
                                      hami::kPodBindPhase,      hami::kPodBindTime};

// Other vendors' keys have the same endings.
bool IsOfProtocol(std::string_view key) {
  return std::ranges::find(kProtocolKeys, key) != kProtocolKeys.end() ||
         key.starts_with(hami::kPodAscendDevices) ||
         (key.starts_with("hami.io/") &&
          (key.ends_with("-devices-to-allocate") || key.ends_with("-devices-allocated")));
}

bool IsAdministrator(const Review& review, const ProtocolGuard& guard) {
  return std::ranges::find_first_of(guard.administrators, review.groups) !=
         guard.administrators.end();
}

bool IsWriter(const Review& review, const ProtocolGuard& guard) {
  return std::ranges::find(guard.writers, review.user) != guard.writers.end() ||
         IsAdministrator(review, guard);
}

// A forged mirror pod would count as a static pod with the devices in its annotations.
Status CheckMirror(const Review& review, const NewPod& pod, const ProtocolGuard& guard) {
  const bool claims = pod.annotations.contains(kMirror);
  if (!claims || IsMirror(review, pod) || IsAdministrator(review, guard)) return {};
  return Fail(Reason::kInvalid, "{}: only kubelet makes mirror pods; leave it out of the pod",
              kMirror);
}

// The limiter knows two priorities: 0 is high.
Status CheckPriority(const kube::Container& container, const std::string& resource) {
  const auto found = container.limits.find(resource);
  if (resource.empty() || found == container.limits.end()) return {};
  const auto number = WholeQuantity(found->second);
  if (number == 0 || number == 1) return {};
  return Fail(Reason::kInvalid, "container {} asks for {} of {}: use 0 (high) or 1 (low)",
              Brief(container.name), Brief(found->second), resource);
}

}  // namespace

bool IsMirror(const Review& review, const NewPod& pod) {
  return pod.annotations.contains(kMirror) &&
         std::ranges::find(review.groups, kNodes) != review.groups.end();
}

Status CheckProtocol(const Review& review, const NewPod& pod, const ProtocolGuard& guard) {
  if (!guard.on) return {};
  TRY(CheckMirror(review, pod, guard));
  if (IsWriter(review, guard)) return {};
  std::vector<std::string> keys;
  for (const auto& [key, value] : pod.annotations) {
    if (IsOfProtocol(key)) keys.push_back(Brief(key));
  }
  if (!keys.empty()) {
    return Fail(Reason::kInvalid,
                "{}: reserved for the scheduler and the nodes' agents; leave it out of the pod and "
                "request devices in resources.limits",
                Join(keys, ", "));
  }
  if (!pod.labels.contains(hami::kPodNode)) return {};
  return Fail(Reason::kInvalid, "label {}: only the scheduler writes it; leave it out of the pod",
              hami::kPodNode);
}

Status CheckRequests(const NewPod& pod, const DeviceRules& rules) {
  for (const NewContainer& container : pod.containers) {
    TRY(CheckRequest(container.asked, rules.requests));
    TRY(CheckPriority(container.asked, rules.priority_name));
  }
  return {};
}

Status CheckPrivileges(const NewPod& pod, const DeviceRules& rules) {
  for (const NewContainer& container : pod.containers) {
    if (!container.privileged) continue;
    return Fail(Reason::kInvalid,
                "container {} is privileged and can reach all devices of its node: leave out "
                "securityContext.privileged or the pod's requests for {}",
                Brief(container.asked.name), Join(ResourcesOf(rules.requests), ", "));
  }
  return {};
}

Status CheckNode(const NewPod& pod, const DeviceRules& rules, const ClusterFacts& facts) {
  if (pod.node.empty()) return {};
  if (!rules.vendor->has_agent) {
    return Fail(Reason::kInvalid,
                "spec.nodeName {} bypasses the scheduler that chooses devices: use "
                "spec.nodeSelector with kubernetes.io/hostname",
                Brief(pod.node));
  }
  if (facts.fitting_unplaced.contains(pod.node)) return {};
  return Fail(Reason::kInvalid,
              "spec.nodeName {} bypasses the scheduler that chooses devices: use spec.nodeSelector "
              "with kubernetes.io/hostname, or set 'unplaced: fit' for that node's agent",
              Brief(pod.node));
}

}  // namespace tessera::webhook
