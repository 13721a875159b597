// SPDX-License-Identifier: Apache-2.0
// How devices are to be chosen, as HAMi's flags and a pod's annotations say it. Pure; any thread.
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
// Those that decide one after the other in a list.
inline constexpr std::array<std::string_view, 3> kChainedPolicies = {"binpack", "spread", "numa"};

// Annotation of a pod: how many nodes kube-scheduler chooses from, 1 to kMostNodeChoices.
inline constexpr std::string_view kNodeChoices = "tessera.dev/node-choices";
inline constexpr int32_t kMostNodeChoices = 100;
std::optional<int32_t> NodeChoicesIn(std::string_view text);

// One of kDevicePolicies, or several with commas between them.
// Other names are none; without any it is spread, as with HAMi. `numa_bind`: all devices of a
// container are to be at one NUMA node.
DevicePolicy DevicePolicyOf(std::string_view names, bool numa_bind);

// Vendor::numa_bind; what cannot be read is none.
bool WantsOneNuma(const kube::Pod& pod, const Vendor& vendor);

// "slot=1,core=1,memory=3". kInvalid where it is not so, one is below zero or missing, or none is
// above.
Result<ScoreWeights> ScoreWeightsOf(std::string_view text);

}  // namespace tessera::hami
