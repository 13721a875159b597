// SPDX-License-Identifier: Apache-2.0
// The agent's explanations as text for people. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "cli/command/layout.h"
#include "json/json.h"

namespace tessera::cli {

// What GET /explain answered: for every candidate whether it is offered, as what, why, and what a
// container would get with it.
std::string ExplainText(const json::Value& answer, const View& view);

// "  NAME        TEXT", the text broken at spaces to fit the view, each line below the first.
// Nothing for an empty text.
std::string Sentence(std::string_view name, std::string_view text, const View& view);

}  // namespace tessera::cli
