// SPDX-License-Identifier: Apache-2.0
// What the agent knows of a pod, as text for people. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "cli/command/layout.h"
#include "json/json.h"

namespace tessera::cli {

// Whether the word is NAMESPACE/NAME: a device's name has a domain in front, and so a dot.
bool IsPodName(std::string_view word);

// What GET /explain?pod=NAMESPACE/NAME answered.
std::string PodText(const json::Value& answer, const View& view);

}  // namespace tessera::cli
