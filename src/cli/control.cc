// SPDX-License-Identifier: Apache-2.0
#include "cli/control.h"

#include "config/schema/config.h"
#include "http/blocking.h"

namespace tessera::cli {
namespace {

constexpr Duration kPatience{10'000};

// The transport's error, in words for a person who asks the agent.
Error Explain(Error error) {
  if (error.reason == Reason::kNotFound || error.reason == Reason::kUnavailable) {
    return {Reason::kAgentAbsent, "no agent answers: " + error.message};
  }
  if (error.reason == Reason::kPermission) {
    error.message += "; the control socket is for root and the agent's own user";
  }
  return error;
}

}  // namespace

Option ControlOption() {
  return {.name = "--control",
          .value = "PATH",
          .help = "the agent's control socket",
          .fallback = config::Config().control_socket,
          .environment = "TESSERA_CONTROL_SOCKET"};
}

namespace {

Result<std::string> Ask(const Arguments& arguments, const http::Request& request) {
  std::string socket = arguments.Get("control");
  auto response = http::ExchangeUnix(socket, request, kPatience);
  if (!response) return Fail(Explain(response.error()));
  if (response->status >= 400) return Fail(http::FailureIn(*response));
  return std::move(response->body);
}

}  // namespace

Result<json::Value> AskAgent(const Arguments& arguments, const http::Request& request) {
  return json::Parse(TRY(Ask(arguments, request)));
}

Result<std::string> AskAgentForText(const Arguments& arguments, const std::string& path) {
  return Ask(arguments, {.path = path, .query = {}, .body = ""});
}

Result<json::Value> TellAgent(const Arguments& arguments, const std::string& path,
                              const json::Object& body) {
  return AskAgent(arguments, {"POST", path, {}, json::Write(body)});
}

}  // namespace tessera::cli
