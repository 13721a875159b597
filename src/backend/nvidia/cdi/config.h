// SPDX-License-Identifier: Apache-2.0
// What the configuration says of the CDI documents for GPUs, beside `cdi` of the resource. Pure.
#pragma once

#include <string>
#include <vector>

#include "config/schema/config.h"
#include "config/schema/findings.h"
#include "config/schema/key.h"

namespace tessera::nvidia {

std::vector<config::Key> CdiKeys();
// `path` is that of the section, of the resource with this index.
void CheckCdi(const config::Config& config, size_t index, const std::string& path,
              config::Findings& findings);

}  // namespace tessera::nvidia
