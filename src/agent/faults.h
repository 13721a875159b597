// SPDX-License-Identifier: Apache-2.0
// Conditions of the node that block the agent: a directory, a disk, a limit. Neither the agent nor
// a restart can fix them. So /healthz names them, /readyz fails, and a metric counts them. Plain
// data; any thread.
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
    "descriptors",     // none left for a file or a socket
    "state",           // it cannot be saved
    "control-socket",  // it cannot be made
    "cdi",             // a document cannot be written
    "prepared",        // devices cannot be prepared for grants, or undone
    "grants",          // the last container to start could not get its grant on this node
};

// One line per fault.
std::string TextOf(const Faults& faults);

}  // namespace tessera::agent
