// SPDX-License-Identifier: Apache-2.0
// Device nodes as they are on the host. Any thread.
#pragma once

#include <span>
#include <string>

#include "device/device.h"
#include "grant/cdi_document.h"
#include "os/files.h"

namespace tessera {

// A node that the devices of a kind have, alone or together: "/dev/infiniband/rdma_cm".
struct WantedNode {
  DeviceNode node;
  bool optional = false;
};

// Gives the device those of the nodes that are there now. An optional one that is missing is left
// out until a later scan finds it; that another is missing is the device's defect.
void AddNodes(const os::Root& root, std::span<const WantedNode> wanted, Device& device);

// For CDI documents, as a runtime that has to find out for itself refuses a symbolic link, and one
// of them makes nodes that nobody may open: what a node is in the kernel. Looks at the node's path
// on the host, below the directory `seen_below` ("" is the root), where the host's tree is seen:
// fills in type, numbers and mode, and the path that links lead to. What is no device node, or is
// not seen, stays as it is.
void DescribeNode(const std::string& seen_below, cdi::Node& node);

}  // namespace tessera
