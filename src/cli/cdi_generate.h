// SPDX-License-Identifier: Apache-2.0
// The CDI documents that an agent with this configuration would write now, made without one:
// `tessera cdi generate`. One thread.
#pragma once

#include <vector>

#include "base/result.h"
#include "config/schema/config.h"
#include "grant/cdi_document.h"

namespace tessera::cli {

// In the order of their kinds; none where no resource uses CDI. Looks for the devices, which may
// take some seconds; the first resource whose devices cannot be found is an error.
Result<std::vector<cdi::Document>> GenerateCdi(const config::Config& config);

}  // namespace tessera::cli
