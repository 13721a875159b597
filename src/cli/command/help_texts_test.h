// SPDX-License-Identifier: Apache-2.0
// For tests: the texts of a program's help as paragraphs, for tools that measure prose.
#pragma once

#include <string>

#include "cli/command/command.h"

namespace tessera::cli {

// Every summary, description, option and example of the tree. Defaults and choices are no prose and
// are left out.
inline std::string HelpTexts(const Command& command) {
  std::string out = command.summary + "\n\n" + command.description + "\n\n";
  for (const Option& option : command.options) out += option.help + "\n\n";
  for (const Example& example : command.examples) out += example.meaning + "\n\n";
  for (const Command& child : command.commands) out += HelpTexts(child);
  return out;
}

}  // namespace tessera::cli
