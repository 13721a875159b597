// SPDX-License-Identifier: Apache-2.0
// Which devices a pod's user wants, as he says it to HAMi's scheduler by annotations. Pure; any
// thread.
#pragma once

#include "hami/vendor.h"
#include "kube/objects/pod.h"
#include "placement/device_choice.h"

namespace tessera::hami {

// Lists with commas, of which spaces at both ends are passed over. What is empty says nothing.
DeviceSelector SelectorOf(const kube::Pod& pod, const Vendor& vendor);

}  // namespace tessera::hami
