// SPDX-License-Identifier: Apache-2.0
// What a command writes: results to standard output, the rest to standard error.
#pragma once

#include <string_view>

#include "base/error.h"
#include "cli/layout.h"
#include "json/json.h"

namespace tessera::cli {

// Writes to standard output; kOk, or kFailed when it cannot be written (a full disk, a closed
// pipe).
int Print(std::string_view text);
void PrintToError(std::string_view text);

// "tessera: MESSAGE [NAME]: ADVICE" on standard error; returns kFailed.
int PrintFailure(const Error& error);

// "tessera COMMAND: WHAT" on standard error, for a value that the parser could not judge; returns
// kUsage.
int PrintMisuse(std::string_view command, std::string_view what);

// How standard output is best written to: the terminal's width and colours, or neither when it is
// none. NO_COLOR is respected.
View OutputView();

// A document in "json" or "yaml".
std::string Document(const json::Value& value, std::string_view format);

}  // namespace tessera::cli
