// SPDX-License-Identifier: Apache-2.0
// The command line of NVIDIA's device plugin, by the rules of Go's flags. "-x" is "--x", a switch
// takes its value only after "=", and lists may be given in parts. Pure; plain data; any thread.
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

// A flag that a program has besides the plugin's.
struct FurtherFlag {
  std::string_view name{};  // without dashes
  bool is_switch = false;
};

struct CommandLine {
  std::map<const Option*, std::vector<std::string>> given{};  // in the order given
  std::map<std::string, std::string, std::less<>> further{};  // the last value of each
  bool help = false;
  bool version = false;
  std::vector<Problem> errors{};
  std::vector<Problem> warnings{};
};

// `words`: without the program's name. `-v` asks for the version, unless a further flag has this
// name and a number.
CommandLine ParseCommandLine(std::span<const std::string> words,
                             std::span<const FurtherFlag> further = {});

// Stores the values of the flags.
void ApplyCommandLine(const CommandLine& line, Settings& settings, Findings& findings);

// The file that a flag or variable names; empty: none.
std::string ConfigFileOf(const CommandLine& line,
                         const std::map<std::string, std::string>& environment);

}  // namespace tessera::config::nvidia
