// SPDX-License-Identifier: Apache-2.0
// What a node with NVIDIA's device plugin may be set to and Tessera does not serve, in one table:
// whoever serves one of them takes its row out. Pure.
#pragma once

#include "config/nvidia/settings.h"
#include "config/schema/findings.h"

namespace tessera::config::nvidia {

// Reports the settings that cannot be served: as errors what pods would miss, as warnings what is
// of no effect here. Values that are known to be bad are passed over.
void CheckGaps(const Settings& settings, Findings& findings);

}  // namespace tessera::config::nvidia
