// SPDX-License-Identifier: Apache-2.0
// A command's output: results to standard output, all else to standard error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/command/command.h"
#include "cli/command/layout.h"
#include "json/json.h"

namespace tessera::cli {

// Sets the program's name for messages; the default is "tessera". Call it before any thread starts.
void SetProgramName(std::string_view name);

// Writes to standard output. kFailed: it cannot be written, as with a full disk or a closed pipe.
int Print(std::string_view text);
void PrintToError(std::string_view text);

// Prints "PROGRAM: MESSAGE [NAME]: ADVICE" on standard error; returns kFailed.
int PrintFailure(const Error& error);

// Prints "PROGRAM COMMAND: WHAT" on standard error, for a value that the parser could not check.
// Returns kUsage.
int PrintMisuse(std::string_view command, std::string_view what);

// Standard output's properties. The width is the terminal's, at most kMostColumns; without a
// terminal it is kMostColumns. Colours need a terminal and no NO_COLOR. `wide`: any width.
View OutputView(bool wide = false);

// --output FORMAT, or -o; the first form is the default.
Option OutputOption(std::vector<std::string> forms);
// Prints the document if --output is "json" or "yaml". Null: another form was asked for.
std::optional<int> PrintDocument(const Arguments& arguments, const json::Value& value);

}  // namespace tessera::cli
