// SPDX-License-Identifier: Apache-2.0
// The command line against the command tree. The only user of CLI11. Any thread.
#pragma once

#include <string>
#include <vector>

#include "cli/command/command.h"

namespace tessera::cli {

struct Parsed {
  const Command* command = nullptr;  // in the tree given; null: print `text` and end
  Arguments arguments{};
  std::string text{};  // the help that was asked for, or what is wrong
  int exit_code = kOk;
};

// `words` without the program's own name. Pure but for the environment variables that options name.
// `program` must outlive the result.
Parsed Parse(const Command& program, const std::vector<std::string>& words);

// What people try first with any program: `--version`, and `help COMMAND` for `COMMAND --help`.
void TranslateHabits(std::vector<std::string>& words);

// Parses the words, and does what they say; the exit code.
int Run(const Command& program, const std::vector<std::string>& words);

}  // namespace tessera::cli
