// SPDX-License-Identifier: Apache-2.0
// The checks of `nvidia: {cdi: {}}`, the CDI documents for GPUs. The resource's own `cdi` is
// checked elsewhere. Pure.
#pragma once

#include <string>
#include <vector>

#include "config/schema/config.h"
#include "config/schema/findings.h"
#include "config/schema/key.h"

namespace tessera::nvidia {

std::vector<config::Key> CdiKeys();
// `path`: that of the section, in the resource with this index.
void CheckCdi(const config::Config& config, size_t index, const std::string& path,
              config::Findings& findings);

}  // namespace tessera::nvidia
