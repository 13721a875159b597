// SPDX-License-Identifier: Apache-2.0
// Asking the agent of this node, over its control socket.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/command/command.h"
#include "http/http.h"
#include "json/json.h"

namespace tessera::cli {

// --control PATH, for every command that asks the agent.
Option ControlOption();

// One question to the agent; the document it answers with. kAgentAbsent when nobody answers on the
// socket.
Result<json::Value> AskAgent(const Arguments& arguments, const http::Request& request);

// One question to the agent; the text it answers with.
Result<std::string> AskAgentForText(const Arguments& arguments, const std::string& path);

// The same for an order, with an object as its body.
Result<json::Value> TellAgent(const Arguments& arguments, const std::string& path,
                              const json::Object& body);

}  // namespace tessera::cli
