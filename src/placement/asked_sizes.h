// SPDX-License-Identifier: Apache-2.0
// Sizes of a container's virtual GPUs where no scheduler has chosen them. The container's limits or
// the pod's annotations give them; annotations need no extended resource on the node. Pure. Any
// thread.
#pragma once

#include <optional>

#include "base/result.h"
#include "kube/objects/pod.h"
#include "placement/requests.h"

namespace tessera {

// Annotation keys of a pod, for all of its containers. With ".CONTAINER" appended, for that one.
inline constexpr char kMemoryKey[] = "tessera.dev/gpu-memory";  // "3000" (MiB), "3000Mi", "3Gi"
inline constexpr char kPercentageKey[] = "tessera.dev/gpu-memory-percentage";  // 1 to 100
inline constexpr char kCoresKey[] = "tessera.dev/gpu-cores";                   // 0 to 100
inline constexpr char kSizeKeys[] = "tessera.dev/gpu-";                        // common prefix

// A limit overrides the container's annotation, which overrides the pod's. The rest follows
// Resolve. Nothing for a container that requests no GPU. kInvalid if a value is unreadable, two
// contradict each other, or an annotation names a missing container.
Result<std::optional<Request>> ResolveSizes(const kube::Pod& pod, const kube::Container& container,
                                            const RequestRules& rules);

}  // namespace tessera
