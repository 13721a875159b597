// SPDX-License-Identifier: Apache-2.0
// The text of --help. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "cli/command/command.h"

namespace tessera::cli {

// `path`: the command's full name, "tessera devices".
std::string HelpText(const Command& command, std::string_view path);

// "tessera devices [OPTIONS] [COMMAND]".
std::string UsageLine(const Command& command, std::string_view path);

// An option's description, with its choices, default and environment variable.
std::string OptionText(const Option& option);

// For --help and the man page.
struct ExitCode {
  int code;
  std::string_view meaning;
};
inline constexpr ExitCode kExitCodes[] = {
    {kOk, "done"},
    {kFailed, "failed (standard error says why)"},
    {kUsage, "wrong command line"},
};

}  // namespace tessera::cli
