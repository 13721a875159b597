// SPDX-License-Identifier: Apache-2.0
// A configuration as it came out, for `tessera config print`. Pure.
#pragma once

#include <string>

#include "config/load.h"

namespace tessera::config {

// YAML that can be loaded again, with a comment on each line saying where the value came from.
std::string PrintYaml(const LoadResult& result);
// The same without what is as it is anyway: what is left amounts to the same configuration.
std::string PrintChangedYaml(const LoadResult& result);
// One object: "config" with the values, "sources" with where each came from.
std::string PrintJson(const LoadResult& result);

}  // namespace tessera::config
