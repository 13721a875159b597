// SPDX-License-Identifier: Apache-2.0
// Parses the command line by the command tree. The only user of CLI11. Any thread.
#pragma once

#include <string>
#include <vector>

#include "cli/command/command.h"

namespace tessera::cli {

struct Parsed {
  const Command* command = nullptr;  // in the given tree; null: print `text` and end
  Arguments arguments{};
  std::string text{};  // the help, or the error
  int exit_code = kOk;
};

// `words`: without the program's name. Reads only the environment variables of options. `program`
// must outlive the result.
Parsed Parse(const Command& program, const std::vector<std::string>& words);

// Translates common first attempts: `--version`, and `help COMMAND` for `COMMAND --help`.
void TranslateHabits(std::vector<std::string>& words);

// Parses the words and runs the command; returns the exit code.
int Run(const Command& program, const std::vector<std::string>& words);

}  // namespace tessera::cli
