// SPDX-License-Identifier: Apache-2.0
// The agent's inventory as tables for people. Pure; any thread.
#pragma once

#include <string>

#include "cli/command/layout.h"
#include "json/json.h"

namespace tessera::cli {

enum class Detail : bool { kUsual, kWide };

// What GET /inventory and GET /ledger answered: the node, its resources, its devices, and what a
// person should know besides. Members that are missing are shown as nothing.
std::string DevicesText(const json::Value& inventory, const json::Value& ledger, Detail detail,
                        const View& view);

}  // namespace tessera::cli
