// SPDX-License-Identifier: Apache-2.0
// Reads what kubelet keeps of Allocate's answer. Pure; any thread.
#pragma once

#include <string>

#include "grant/grant.h"

namespace tessera::kubelet::embedded {

// The grant in a serialized ContainerAllocateResponse; empty when it cannot be read.
Grant ReadAllocateResponse(const std::string& serialized);

}  // namespace tessera::kubelet::embedded
