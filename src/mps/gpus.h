// SPDX-License-Identifier: Apache-2.0
// The GPUs of a resource, as the driver has them now. May block, as the driver does. Any thread.
#pragma once

#include "base/result.h"
#include "config/schema/config.h"
#include "mps/sizes.h"
#include "os/files.h"

namespace tessera::mps {

// What clients of the resource's daemon may take of each. A GPU that cannot be read is left out:
// the agent knows why. kDriverMissing; kMpsUnfit on WSL and Tegra, where there is no MPS.
Result<Sizes> SizesNow(const config::Resource& resource, const os::Root& root);

}  // namespace tessera::mps
