// SPDX-License-Identifier: Apache-2.0
// The agent's inventory as tables for people. Pure; any thread.
#pragma once

#include <string>

#include "cli/command/layout.h"
#include "json/json.h"

namespace tessera::cli {

enum class Detail : bool { kUsual, kWide };

// The answers of GET /inventory and GET /ledger as text: the node, its resources and devices, and
// notes. Missing members are shown empty.
std::string DevicesText(const json::Value& inventory, const json::Value& ledger, Detail detail,
                        const View& view);

}  // namespace tessera::cli
