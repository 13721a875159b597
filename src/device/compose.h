// SPDX-License-Identifier: Apache-2.0
// Makes one device of two devices of two sources, such as a GPU and the network card near it. Pure;
// any thread.
#pragma once

#include <string>

#include "device/device.h"

namespace tessera {

struct ComposedPart {
  const Device& device;
  std::string variable{};  // its variable in a container; empty: none
};

// The device of this name, with all that a container needs of both parts. It takes the hardware of
// both (DeviceTraits::takes). So while a container may have the device, neither part is granted;
// and while a container may have a part, the device is not. A part that does not say what it takes
// gives the device a defect.
Device Compose(const DeviceKey& key, const ComposedPart& a, const ComposedPart& b);

}  // namespace tessera
