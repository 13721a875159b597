// SPDX-License-Identifier: Apache-2.0
// Makes the CDI documents that an agent with this configuration would write now, for `tessera cdi
// generate`. One thread.
#pragma once

#include <vector>

#include "base/result.h"
#include "config/schema/config.h"
#include "grant/cdi_document.h"

namespace tessera::cli {

// In the order of their kinds; empty: no resource uses CDI. The scan may take some seconds. The
// first resource with a failed scan is an error.
Result<std::vector<cdi::Document>> GenerateCdi(const config::Config& config);

}  // namespace tessera::cli
