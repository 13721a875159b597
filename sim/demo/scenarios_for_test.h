// SPDX-License-Identifier: Apache-2.0
// Small scenarios and their problems, for tests.
#pragma once

#include <fmt/core.h>

#include <string>
#include <vector>

#include "sim/demo/scenario.h"

namespace tessera::demo {

inline ReadScenario Parse(const std::string& text) {
  return ParseScenario(config::Document::Parse("try.yaml", text));
}

// A good scenario with these steps; the first stands on line 10.
inline ReadScenario ParseSteps(const std::string& steps) {
  constexpr char kHead[] = R"(title: a try
seed: 3
kubelet: "1.37"
config: |
  version: tessera/v1
  resources:
    - name: dummy.com/npu
      dummy: {count: 4}
steps:
)";
  return Parse(kHead + steps);
}

// "line: message" of every problem.
using Lines = std::vector<std::string>;
inline Lines ProblemsOf(const ReadScenario& read) {
  Lines lines;
  for (const config::Problem& problem : read.problems) {
    lines.push_back(fmt::format("{}: {}", problem.line, problem.message));
  }
  return lines;
}

}  // namespace tessera::demo
