// SPDX-License-Identifier: Apache-2.0
// The command line of NVIDIA's device plugin, with the rules of Go's flags: "-x" is "--x", a switch
// takes its value behind "=" alone, and lists may be given in parts. Pure; plain data; any thread.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compat/nvidia/options.h"
#include "config/schema/problem.h"

namespace tessera::config::nvidia {

// A flag of a program that has all of the plugin's, and this besides.
struct FurtherFlag {
  std::string_view name{};  // without dashes
  bool is_switch = false;
};

struct CommandLine {
  std::map<const Option*, std::vector<std::string>> given{};  // in the order they were given
  std::map<std::string, std::string, std::less<>> further{};  // the last value of each
  bool help = false;
  bool version = false;
  std::vector<Problem> errors{};
  std::vector<Problem> warnings{};
};

// `words` without the program's own name. `-v` is the version, where no further flag is called so
// and has a number.
CommandLine ParseCommandLine(std::span<const std::string> words,
                             std::span<const FurtherFlag> further = {});

// Stores what the flags say.
void ApplyCommandLine(const CommandLine& line, Settings& settings, Findings& findings);

// The file that flag or variable name; empty: none.
std::string ConfigFileOf(const CommandLine& line,
                         const std::map<std::string, std::string>& environment);

}  // namespace tessera::config::nvidia
