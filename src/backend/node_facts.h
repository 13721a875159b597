// SPDX-License-Identifier: Apache-2.0
// What a device node is in the kernel, for CDI documents: a runtime that has to find out for itself
// refuses a symbolic link, and one of them makes nodes that nobody may open. Any thread.
#pragma once

#include <string>

#include "grant/cdi_document.h"

namespace tessera {

// Looks at the node's path on the host, below the directory `seen_below` ("" is the root), where
// the host's tree is seen: fills in type, numbers and mode, and the path that links lead to. What
// is no device node, or is not seen, stays as it is.
void DescribeNode(const std::string& seen_below, cdi::Node& node);

}  // namespace tessera
