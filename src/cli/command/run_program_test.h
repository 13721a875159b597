// SPDX-License-Identifier: Apache-2.0
// For tests: runs other programs that read our output, such as shells and man.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "os/files.h"
#include "os/process.h"

namespace tessera::cli {

// Runs a program; returns its exit code and output. The code is -1 if it does not start.
inline std::pair<int, std::string> RunProgram(const std::vector<std::string>& argv) {
  std::string directory = os::MakeTemporaryDirectory("/tmp/tessera-cli-").value();
  auto process = os::Process::Start(argv, directory + "/out");
  int code = process ? process->Wait() : -1;
  std::string text = os::ReadFile(directory + "/out").value_or("");
  (void)os::RemoveTree(directory);
  return {code, text};
}

}  // namespace tessera::cli
