// SPDX-License-Identifier: Apache-2.0
// What holds the agent up from outside: a directory, a disk, a limit. It mends none of these by
// itself, and a restart does not either; so /healthz names them, /readyz fails by them, and a
// metric counts them. Plain data; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tessera::agent {

struct Fault {
  std::string_view name;  // one of kFaultNames
  Error error;
};
using Faults = std::vector<Fault>;

inline constexpr std::string_view kFaultNames[] = {
    "descriptors",     // none is left for a file or a socket
    "state",           // cannot be saved
    "control-socket",  // cannot be made
    "cdi",             // a document cannot be written
    "prepared",        // devices are not undone, or cannot be prepared for grants
    "grants",          // of a container, could not be made ready on this node, when last tried
};

// A line each.
std::string TextOf(const Faults& faults);

}  // namespace tessera::agent
