// SPDX-License-Identifier: Apache-2.0
// Why a new pod is not admitted, in words that say what to change. Pure; any thread.
#pragma once

#include <string_view>

#include "base/result.h"
#include "webhook/review.h"
#include "webhook/rules.h"

namespace tessera::webhook {

// The annotation of what kubelet shows of a static pod.
inline constexpr std::string_view kMirror = "kubernetes.io/config.mirror";
// Such a pod runs already, whatever is answered. Others than kubelets may not claim it.
bool IsMirror(const Review& review, const NewPod& pod);

// Of any pod: kInvalid where somebody else than a writer of the protocol writes it.
Status CheckProtocol(const Review& review, const NewPod& pod, const ProtocolGuard& guard);
// Of a pod of ours: kInvalid with the first amount that cannot be meant.
Status CheckRequests(const NewPod& pod, const DeviceRules& rules);
// Of a pod that asks for devices: kInvalid where a container of it would have all of the node's.
Status CheckPrivileges(const NewPod& pod, const DeviceRules& rules);
// Of one that names its node, where no scheduler places it.
Status CheckNode(const NewPod& pod, const DeviceRules& rules, const ClusterFacts& facts);

}  // namespace tessera::webhook
