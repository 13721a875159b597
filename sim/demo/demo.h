// SPDX-License-Identifier: Apache-2.0
// `tessera-sim demo`: an agent and an embedded kubelet in a private temporary directory play a
// scenario while somebody watches. The agent is a real process of the program "tessera" beside this
// one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::demo {

struct DemoOptions {
  std::string scenario{};  // the name of one that ships, or a file; empty: the one that fits
  std::string hardware{};  // a description of NVIDIA GPUs; empty: there are none
  std::string nvml{};      // the fake NVML that has them; empty: the one beside the program
  bool json = false;       // one JSON object a line
  bool plain = false;      // plain lines, also on a terminal
  double speed = 1;        // the scenario's times are divided by it; above 0
  bool keep = false;       // the temporary directory stays, and is named at the end
};

// Plays it, on the calling thread, which must not end meanwhile. 0: all went as it should; 1: a law
// broke, or something was not as the scenario expects; 2: there is no such scenario or hardware, or
// it is wrong, or they do not go together; 130 (128 + signal): interrupted. Nothing is left behind.
int RunDemo(const DemoOptions& options);

// A scenario that ships with the program.
struct BuiltinScenario {
  std::string_view name;  // "flapping-devices"
  std::string_view text;  // YAML
};
// The default first.
const std::vector<BuiltinScenario>& BuiltinScenarios();
std::vector<std::string> ScenarioNames();

}  // namespace tessera::demo
