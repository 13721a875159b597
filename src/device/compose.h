// SPDX-License-Identifier: Apache-2.0
// One device made of one each of two sources, such as a GPU and the network card near it. Pure; any
// thread.
#pragma once

#include <string>

#include "device/device.h"

namespace tessera {

struct ComposedPart {
  const Device& device;
  std::string variable{};  // that names it in a container; empty: none
};

// The device of this name with all that a container needs of both. Both must say what hardware they
// take (DeviceTraits::takes), for it takes that of both: while a container may have it neither part
// is granted to another, nor it while one may have a part. Else it has a defect.
Device Compose(const DeviceKey& key, const ComposedPart& a, const ComposedPart& b);

}  // namespace tessera
