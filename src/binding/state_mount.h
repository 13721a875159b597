// SPDX-License-Identifier: Apache-2.0
// Why the agent cannot save its state, if no directory of the host is mounted. Any thread.
#pragma once

#include <string>

#include "base/error.h"

namespace tessera {

// The error of a failed write below the directory: kStateNotKept if this process runs in a pod and
// no mount is there, else `error`.
Error AboutStateMount(Error error, const std::string& directory);

}  // namespace tessera
