// SPDX-License-Identifier: Apache-2.0
// Runs a program to its end within a time limit and returns its output. Any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace tessera::os {

struct Command {
  std::vector<std::string> argv = {};  // a program without "/" is searched in PATH
  // Changes to this process's environment. An empty value removes the variable.
  std::map<std::string, std::string> environment = {};
  std::string input = {};  // standard input
  Duration limit{10'000};  // the program is killed after this
};

struct Answer {
  int exit_code = 0;   // or 128 + signal number
  std::string output;  // both streams, the first 64 KiB
  bool operator==(const Answer&) const = default;
};

// kNotFound if there is no such program, kTimedOut if it was killed. Child processes that it leaves
// behind are not waited for and keep running.
Result<Answer> RunCommand(const Command& command);

// The path at which RunCommand finds this program, or empty.
std::string FindProgram(const std::string& name);

}  // namespace tessera::os
