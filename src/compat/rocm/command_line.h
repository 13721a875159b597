// SPDX-License-Identifier: Apache-2.0
// The command line of ROCm's device plugin, which has no file and no variables. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compat/go_flags/go_flags.h"
#include "config/schema/problem.h"

namespace tessera::config::rocm {

std::span<const GoFlag> Flags();

struct CommandLine {
  int64_t pulse = 0;   // seconds between checks; 0: the agent's own
  bool mixed = false;  // a resource for each profile
  bool help = false;
  std::vector<Problem> errors{};
  std::vector<Problem> warnings{};
};
// `words`: without the program's name.
CommandLine ParseCommandLine(std::span<const std::string> words);

// The configuration that does the same.
std::string YamlOf(const CommandLine& line);

}  // namespace tessera::config::rocm
