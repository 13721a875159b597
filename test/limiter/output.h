// SPDX-License-Identifier: Apache-2.0
// For tests that run programs which the library is loaded into.
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace tessera::limiter {

// Runs a command of sh's and returns what it printed, and its status if that is not 0.
inline std::string Output(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  std::array<char, 256> part{};
  while (fgets(part.data(), part.size(), pipe) != nullptr) output += part.data();
  const int status = pclose(pipe);
  return status == 0 ? output : output + " (status " + std::to_string(status) + ")";
}

}  // namespace tessera::limiter
