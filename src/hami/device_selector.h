// SPDX-License-Identifier: Apache-2.0
// The devices that a pod's user wants, from annotations for HAMi's scheduler. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hami/vendor.h"
#include "kube/objects/pod.h"
#include "placement/device_choice.h"

namespace tessera::hami {

// The distinct parts of a comma-separated list. Spaces around parts and empty parts are dropped.
std::vector<std::string> ListIn(std::string_view text);
// kBadSize: an annotation has too many entries.
Result<DeviceSelector> SelectorOf(const kube::Pod& pod, const Vendor& vendor);

}  // namespace tessera::hami
