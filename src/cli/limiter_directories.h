// SPDX-License-Identifier: Apache-2.0
// The directories of the limiting library's files on this node. Pure; any thread.
#pragma once

#include <set>
#include <string>

#include "config/schema/config.h"

namespace tessera::cli {

// Those of the configured resources; HAMi's usual one if there is none.
std::set<std::string> LimiterDirectories(const config::Config& config);

}  // namespace tessera::cli
