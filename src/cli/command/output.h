// SPDX-License-Identifier: Apache-2.0
// What a command writes: results to standard output, the rest to standard error.
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

// The program's name in what it says of failures; "tessera" where nobody sets it. Before any
// thread.
void SetProgramName(std::string_view name);

// Writes to standard output; kOk, or kFailed when it cannot be written (a full disk, a closed
// pipe).
int Print(std::string_view text);
void PrintToError(std::string_view text);

// "PROGRAM: MESSAGE [NAME]: ADVICE" on standard error; returns kFailed.
int PrintFailure(const Error& error);

// "PROGRAM COMMAND: WHAT" on standard error, for a value that the parser could not judge; returns
// kUsage.
int PrintMisuse(std::string_view command, std::string_view what);

// How standard output is best written to: as wide as the terminal, up to kMostColumns, which it
// also is where there is none; colours on a terminal alone, and not against NO_COLOR. `wide`: of
// any width.
View OutputView(bool wide = false);

// --output FORMAT, -o for short; the first form is the default.
Option OutputOption(std::vector<std::string> forms);
// Prints a document where --output asks for one, "json" or "yaml"; nothing where it asks for a form
// for people.
std::optional<int> PrintDocument(const Arguments& arguments, const json::Value& value);

}  // namespace tessera::cli
