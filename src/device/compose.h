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
  bool shared = false;     // others may have it at the same time
};

// The device of this name, with all that a container needs of both parts. Its place among others is
// that of `a`: address, order, bundle, memory. It takes both
// (DeviceTraits::takes, by what PartName says), unless a part is shared. So while a container may
// have the device, neither part is granted; and while a container may have a part, the device is
// not.
Device Compose(const DeviceKey& key, const ComposedPart& a, const ComposedPart& b);

// The hardware that a device takes as the part of another.
std::string PartName(const DeviceKey& part);

}  // namespace tessera
