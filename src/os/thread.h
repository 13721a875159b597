// SPDX-License-Identifier: Apache-2.0
// A thread that nobody waits for: it owns, or shares, all that it uses.
#pragma once

#include <functional>

#include "base/result.h"

namespace tessera::os {

// kIo where the process may have no more threads (a limit of its cgroup's, or of its user's).
Status StartThread(std::function<void()> run);

}  // namespace tessera::os
