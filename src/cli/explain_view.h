// SPDX-License-Identifier: Apache-2.0
// The agent's explanations as text for people. Pure; any thread.
#pragma once

#include <string>

#include "cli/layout.h"
#include "json/json.h"

namespace tessera::cli {

// What GET /explain answered: for every candidate whether it is offered, as what, why, and what a
// container would get with it.
std::string ExplainText(const json::Value& answer, const View& view);

}  // namespace tessera::cli
