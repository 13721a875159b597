// SPDX-License-Identifier: Apache-2.0
// Why the agent cannot keep anything where no directory of the host is mounted. Any thread.
#pragma once

#include <string>

#include "base/error.h"

namespace tessera {

// The error of whoever wanted to write below the directory: kStateNotKept where this process is in
// a pod and nothing is mounted there.
Error AboutStateMount(Error error, const std::string& directory);

}  // namespace tessera
