// SPDX-License-Identifier: Apache-2.0
// A scenario of `tessera-sim demo`. Any text is a scenario, or gives a list of problems.

#include "sim/demo/scenario.h"

#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto read = tessera::demo::ParseScenario(
      tessera::config::Document::Parse("any.yaml", std::string(tessera::fuzz::Text(data, size))));
  tessera::Duration before{0};
  for (const auto& step : read.scenario.steps) {
    tessera::fuzz::Require(step.at >= before, "steps are in order of time");
    before = step.at;
  }
  for (const auto& problem : read.problems) {
    tessera::fuzz::Require(!problem.Text().empty(), "a problem says what it is");
  }
  return 0;
}
