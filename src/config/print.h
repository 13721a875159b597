// SPDX-License-Identifier: Apache-2.0
// Prints a configuration for `tessera config print`. Pure.
#pragma once

#include <string>

#include "config/load.h"

namespace tessera::config {

// YAML that can be loaded again. A comment on each line names the value's source.
std::string PrintYaml(const LoadResult& result);
// Only the values that differ from the defaults. Loaded again, it gives the same configuration.
std::string PrintChangedYaml(const LoadResult& result);
// One object: "config" has the values, "sources" the source of each.
std::string PrintJson(const LoadResult& result);

}  // namespace tessera::config
