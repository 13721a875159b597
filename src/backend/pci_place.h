// SPDX-License-Identifier: Apache-2.0
// Where a device is on the PCI bus, by sysfs. Caches nothing. Any thread; reads sysfs.
#pragma once

#include <string_view>

#include "backend/sysfs.h"
#include "device/traits.h"
#include "os/files.h"

namespace tessera {

// Fills in the PCI path and the IOMMU group of the function at this address, "0000:47:00.0". What
// sysfs does not have stays as it is.
void ReadPciPlace(const os::Root& root, std::string_view address, DeviceTraits& traits);

// Whether the kernel has suspended the function. A question would wake it.
bool IsAsleep(const os::Root& root, std::string_view address);
bool IsAsleep(const sysfs::Directory& function);

// Whether the function no longer answers on its bus: its configuration reads as ones. The first
// four bytes of a virtual function's always do.
bool IsOffTheBus(const os::Root& root, std::string_view address);
bool IsOffTheBus(const sysfs::Directory& function);

}  // namespace tessera
