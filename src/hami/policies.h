// SPDX-License-Identifier: Apache-2.0
// Policies for the choice of devices, from HAMi's flags and a pod's annotations. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "hami/vendor.h"
#include "kube/objects/pod.h"
#include "placement/device_policy.h"

namespace tessera::hami {

inline constexpr std::array<std::string_view, 2> kNodePolicies = {"binpack", "spread"};
inline constexpr std::array<std::string_view, 5> kDevicePolicies = {"binpack", "spread", "mutex",
                                                                    "numa", "topology-aware"};
// Policies that a list can combine; earlier ones decide first.
inline constexpr std::array<std::string_view, 3> kChainedPolicies = {"binpack", "spread", "numa"};

// A pod's annotation: the number of nodes that kube-scheduler chooses from, 1 to kMostNodeChoices.
inline constexpr std::string_view kNodeChoices = "tessera.dev/node-choices";
inline constexpr int32_t kMostNodeChoices = 100;
std::optional<int32_t> NodeChoicesIn(std::string_view text);

// `names`: one of kDevicePolicies, or several with commas. Unknown names are ignored. Without a
// known one the policy is spread, as with HAMi. `numa_bind`: all devices of a container must be at
// one NUMA node.
DevicePolicy DevicePolicyOf(std::string_view names, bool numa_bind);

// Reads Vendor::numa_bind; an unreadable value is false.
bool WantsOneNuma(const kube::Pod& pod, const Vendor& vendor);

// Reads "slot=1,core=1,memory=3". kInvalid if a weight is missing or negative, or all are zero.
Result<ScoreWeights> ScoreWeightsOf(std::string_view text);

}  // namespace tessera::hami
