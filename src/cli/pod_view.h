// SPDX-License-Identifier: Apache-2.0
// The agent's answer about a pod, as text for people. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "cli/command/layout.h"
#include "json/json.h"

namespace tessera::cli {

// Whether the word is NAMESPACE/NAME. A device's name starts with a domain, which has a dot.
bool IsPodName(std::string_view word);

// The answer of GET /explain?pod=NAMESPACE/NAME.
std::string PodText(const json::Value& answer, const View& view);

}  // namespace tessera::cli
