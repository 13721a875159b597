// SPDX-License-Identifier: Apache-2.0
// A program that is run to its end for what it answers, within a time limit. Any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace tessera::os {

struct Command {
  std::vector<std::string> argv = {};  // a program without "/" is looked for in PATH
  // Besides what this process has; empty: a variable that it is not to have.
  std::map<std::string, std::string> environment = {};
  std::string input = {};  // on its standard input
  Duration limit{10'000};  // it is killed after that
};

struct Answer {
  int exit_code = 0;   // or 128 + signal number
  std::string output;  // both streams together, the first 64 KiB
  bool operator==(const Answer&) const = default;
};

// kNotFound where there is no such program, kTimedOut when it was killed. What the program leaves
// running behind it is not waited for, and lives on.
Result<Answer> RunCommand(const Command& command);

// Where RunCommand finds a program of this name; empty where there is none.
std::string FindProgram(const std::string& name);

}  // namespace tessera::os
