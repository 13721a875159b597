// SPDX-License-Identifier: Apache-2.0
// Devices of network functions: a function is a device, and its address is the id. Any thread;
// reads sysfs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/rdma/functions.h"
#include "backend/rdma/rdma_config.h"
#include "device/device.h"

namespace tessera::rdma {

// The node of the connection manager, which all functions have together. It is optional.
inline constexpr std::string_view kConnectionManager = "/dev/infiniband/rdma_cm";

// The name of the hardware that the device takes: "pci/0000:af:00.1".
std::string HardwareOf(std::string_view address);

// The variable in which the SR-IOV plugin names a resource's devices:
// "PCIDEVICE_EXAMPLE_COM_NIC". Another one, "..._INFO", has a JSON object of what each has.
std::string VariableOf(std::string_view resource);

// The device of a function that the resource has with this access (Fit). `infiniband`: the nodes in
// that directory (Names).
Device DeviceOf(const os::Root& root, const std::string& resource, const RdmaConfig& config,
                const Function& function, RdmaAccess access,
                std::span<const std::string> infiniband);

}  // namespace tessera::rdma
