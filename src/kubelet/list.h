// SPDX-License-Identifier: Apache-2.0
// The device list in kubelet's wire format. It is serialized once per generation, and all streams
// share the bytes. Pure; any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "share/share.h"

namespace tessera::kubelet {

// The largest message of kubelet's gRPC client, in bytes. A larger one would end the stream, and
// kubelet would lose every device.
inline constexpr size_t kMaxListBytes = size_t{4} * 1024 * 1024;

// A serialized v1beta1.ListAndWatchResponse.
using ListBytes = std::shared_ptr<const std::string>;

// kListTooLarge if the plan's shares cannot fit even without health and NUMA nodes. Called before
// the shares are made, because there may be hundreds of millions.
Status MayFit(std::string_view resource, const DeviceList& devices, const Plan& plan);

// The list of all shares, with health and NUMA nodes. kListTooLarge if it exceeds kMaxListBytes;
// the message says how many shares would fit.
Result<ListBytes> SerializeList(const Offer& offer);

}  // namespace tessera::kubelet
