// SPDX-License-Identifier: Apache-2.0
// How large the virtual GPUs of a container are to be, where no scheduler has chosen them. Its
// limits say it, or annotations of its pod, which a node without such a resource takes as well.
// Pure; any thread.
#pragma once

#include <optional>

#include "base/result.h"
#include "kube/objects/pod.h"
#include "placement/requests.h"

namespace tessera {

// Of a pod, for all of its containers; with ".CONTAINER" behind it, for that one.
inline constexpr char kMemoryKey[] = "tessera.dev/gpu-memory";  // "3000" (MiB), "3000Mi", "3Gi"
inline constexpr char kPercentageKey[] = "tessera.dev/gpu-memory-percentage";  // 1 to 100
inline constexpr char kCoresKey[] = "tessera.dev/gpu-cores";                   // 0 to 100
inline constexpr char kSizeKeys[] = "tessera.dev/gpu-";  // what all begin with

// A limit counts before an annotation of the container, and that before one of the pod; the rest is
// as in Resolve. Nothing for a container that asks for no GPU. kInvalid where one cannot be read,
// two contradict each other, or one is for a container that the pod does not have.
Result<std::optional<Request>> ResolveSizes(const kube::Pod& pod, const kube::Container& container,
                                            const RequestRules& rules);

}  // namespace tessera
