// SPDX-License-Identifier: Apache-2.0
// `tessera-sim demo`: an agent and an embedded kubelet in a private temporary directory play a
// scenario for a viewer. The agent is a real process of the program "tessera" next to this one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::demo {

struct DemoOptions {
  std::string scenario{};  // a built-in name, or a file; empty: the one that fits
  std::string hardware{};  // a description of hardware; empty: none
  std::string nvml{};      // the fake NVML for NVIDIA's; empty: the one next to the program
  bool json = false;       // one JSON object a line
  bool plain = false;      // plain lines, also on a terminal
  double speed = 1;        // divides the times of the scenario; above 0
  bool keep = false;       // keeps the temporary directory and prints its path
};

// Plays the scenario on the calling thread, which must not end before. Leaves no process or file
// behind. Returns 0: all was as expected; 1: a law broke, or an expectation was not met. 2: the
// scenario or hardware is missing, bad, or they do not fit. 130 (128 + signal): interrupted.
int RunDemo(const DemoOptions& options);

// A scenario that is part of the program.
struct BuiltinScenario {
  std::string_view name;  // "flapping-devices"
  std::string_view text;  // YAML
};
// The default comes first.
const std::vector<BuiltinScenario>& BuiltinScenarios();
std::vector<std::string> ScenarioNames();

}  // namespace tessera::demo
