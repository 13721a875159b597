// SPDX-License-Identifier: Apache-2.0
// A short YAML text that expands to far too many values. For tests.
#pragma once

#include <string>

namespace tessera::config {

// Nine lists, each with nine references to the one before: 9^9 values.
inline std::string AliasBomb() {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int n = 1; n < 9; ++n) bomb += ", " + before;
    bomb += "]\n";
  }
  return bomb;
}

}  // namespace tessera::config
