// SPDX-License-Identifier: Apache-2.0
// The device list as it goes over the wire. Serialized once a generation, shared by every stream.
// Pure; any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "share/share.h"

namespace tessera::kubelet {

// kubelet's gRPC client takes no larger message: it would end the stream and lose every device.
inline constexpr size_t kMaxListBytes = size_t{4} * 1024 * 1024;

// A serialized v1beta1.ListAndWatchResponse.
using ListBytes = std::shared_ptr<const std::string>;

// kListTooLarge where the shares that the plan makes of this resource's devices could not fit,
// whatever else is said of them. To be asked before they are made: they may be hundreds of
// millions.
Status MayFit(std::string_view resource, const DeviceList& devices, const Plan& plan);

// Every share of the offer, with health and NUMA nodes. kListTooLarge, naming how many shares would
// fit, when it is larger than kubelet takes.
Result<ListBytes> SerializeList(const Offer& offer);

}  // namespace tessera::kubelet
