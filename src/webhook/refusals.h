// SPDX-License-Identifier: Apache-2.0
// The reasons to refuse a new pod. Each message says what to change. Pure. Any thread.
#pragma once

#include <string_view>

#include "base/result.h"
#include "webhook/review.h"
#include "webhook/rules.h"

namespace tessera::webhook {

// The annotation of a mirror pod, by which kubelet shows a static pod.
inline constexpr std::string_view kMirror = "kubernetes.io/config.mirror";
// Whether the pod is a kubelet's mirror pod. It already runs, so a refusal has no effect. Only
// kubelets may create one.
bool IsMirror(const Review& review, const NewPod& pod);

// For any pod: kInvalid if a user who is neither writer nor administrator sets protocol
// annotations.
Status CheckProtocol(const Review& review, const NewPod& pod, const ProtocolGuard& guard);
// For a pod of ours: kInvalid with the first invalid amount.
Status CheckRequests(const NewPod& pod, const DeviceRules& rules);
// For a pod with devices: kInvalid if a container of it would see all devices of the node.
Status CheckPrivileges(const NewPod& pod, const DeviceRules& rules);
// For a pod that names its node and therefore bypasses the scheduler.
Status CheckNode(const NewPod& pod, const DeviceRules& rules, const ClusterFacts& facts);

}  // namespace tessera::webhook
