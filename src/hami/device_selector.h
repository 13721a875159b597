// SPDX-License-Identifier: Apache-2.0
// Which devices a pod's user wants, as he says it to HAMi's scheduler by annotations. Pure; any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hami/vendor.h"
#include "kube/objects/pod.h"
#include "placement/device_choice.h"

namespace tessera::hami {

// A list with commas. Spaces at the ends of its parts, and empty parts, are passed over.
std::vector<std::string> ListIn(std::string_view text);
DeviceSelector SelectorOf(const kube::Pod& pod, const Vendor& vendor);

}  // namespace tessera::hami
