// SPDX-License-Identifier: Apache-2.0
// What the host says of device nodes. Any thread; reads files.
#pragma once

#include <span>
#include <string>

#include "device/device.h"
#include "grant/cdi_document.h"
#include "os/files.h"

namespace tessera {

// A node that a kind's devices have, alone or together: "/dev/infiniband/rdma_cm".
struct WantedNode {
  DeviceNode node;
  bool optional = false;
};

// Gives the device the nodes that are there. A missing optional node is left out until a later scan
// finds it. Another missing node is the device's defect.
void AddNodes(const os::Root& root, std::span<const WantedNode> wanted, Device& device);

// Describes a node for a CDI document: type, numbers, mode, and the path that its links lead to.
// Some runtimes refuse a symbolic link, and one makes nodes without permissions.
// The node is looked up at its host path below `seen_below`, where this process sees the host's
// root; "" is its own root. A path that is no device node, or is not there, stays as it is.
void DescribeNode(const std::string& seen_below, cdi::Node& node);

}  // namespace tessera
