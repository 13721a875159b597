// SPDX-License-Identifier: Apache-2.0
// What a node with NVIDIA's device plugin may be set to and Tessera does not serve, in one table:
// whoever serves one of them takes its row out. Pure.
#pragma once

#include <map>
#include <string>

#include "config/nvidia/settings.h"
#include "config/schema/findings.h"

namespace tessera::config::nvidia {

// Reports the settings that cannot be served: as an error what pods would notice, as a warning what
// is done in another way that is safe. Values that are known to be bad are passed over.
void CheckGaps(const Settings& settings, const std::map<std::string, std::string>& environment,
               Findings& findings);

}  // namespace tessera::config::nvidia
