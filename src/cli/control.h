// SPDX-License-Identifier: Apache-2.0
// Asks this node's agent over its control socket.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/command/command.h"
#include "http/http.h"
#include "json/json.h"

namespace tessera::cli {

// --control PATH, for every command that asks the agent.
Option ControlOption();

// Sends one request; returns the answered document. kAgentAbsent: no agent answers on the socket.
Result<json::Value> AskAgent(const Arguments& arguments, const http::Request& request);

// Sends one request; returns the answered text.
Result<std::string> AskAgentForText(const Arguments& arguments, const std::string& path);

// Sends an order with an object as its body; returns the answered document.
Result<json::Value> TellAgent(const Arguments& arguments, const std::string& path,
                              const json::Object& body);

}  // namespace tessera::cli
