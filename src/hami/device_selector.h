// SPDX-License-Identifier: Apache-2.0
// The devices that a pod's user wants, from annotations for HAMi's scheduler. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hami/vendor.h"
#include "kube/objects/pod.h"
#include "placement/device_choice.h"

namespace tessera::hami {

// The parts of a comma-separated list. Spaces around parts and empty parts are dropped.
std::vector<std::string> ListIn(std::string_view text);
DeviceSelector SelectorOf(const kube::Pod& pod, const Vendor& vendor);

}  // namespace tessera::hami
