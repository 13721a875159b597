// SPDX-License-Identifier: Apache-2.0
// The command line of NVIDIA's device plugin, with the rules of Go's flags: "-x" is "--x", a switch
// takes its value behind "=" alone, and lists may be given in parts. Pure; plain data; any thread.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "config/nvidia/options.h"
#include "config/schema/problem.h"

namespace tessera::config::nvidia {

struct CommandLine {
  std::map<const Option*, std::vector<std::string>> given{};  // in the order they were given
  bool help = false;
  bool version = false;
  std::vector<Problem> errors{};
};

// `words` without the program's own name.
CommandLine ParseCommandLine(std::span<const std::string> words);

// Stores what the flags say.
void ApplyCommandLine(const CommandLine& line, Settings& settings, Findings& findings);

// The file that flag or variable name; empty: none.
std::string ConfigFileOf(const CommandLine& line,
                         const std::map<std::string, std::string>& environment);

}  // namespace tessera::config::nvidia
