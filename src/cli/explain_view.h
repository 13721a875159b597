// SPDX-License-Identifier: Apache-2.0
// The agent's explanations as text for people. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "cli/command/layout.h"
#include "json/json.h"

namespace tessera::cli {

// The answer of GET /explain as text. For every candidate: whether and how it is offered, the
// reason, and what a container would get.
std::string ExplainText(const json::Value& answer, const View& view);

// "  NAME        TEXT", with the text broken at spaces to fit the view. Empty for an empty text.
std::string Sentence(std::string_view name, std::string_view text, const View& view);

}  // namespace tessera::cli
