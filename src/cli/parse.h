// SPDX-License-Identifier: Apache-2.0
// The command line against the command tree. The only user of CLI11. Pure but for the environment
// variables that options name; any thread.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace tessera::cli {

struct Parsed {
  const Command* command = nullptr;  // in the tree given; null: print `text` and end
  Arguments arguments{};
  std::string text{};  // the help that was asked for, or what is wrong
  int exit_code = kOk;
};

// `words` without the program's own name. `program` must outlive the result.
Parsed Parse(const Command& program, const std::vector<std::string>& words);

}  // namespace tessera::cli
