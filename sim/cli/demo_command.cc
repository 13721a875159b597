// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/text.h"
#include "cli/command/numbers.h"
#include "cli/command/output.h"
#include "sim/cli/main.h"
#include "sim/demo/demo.h"

namespace tessera::cli {
namespace {

int PlayDemo(const Arguments& arguments) {
  auto speed = ParseNumber<double>(arguments.Get("speed"));
  if (!speed || *speed <= 0) {
    return PrintMisuse(
        "demo", fmt::format("--speed takes a number above 0, not '{}'", arguments.Get("speed")));
  }
  return demo::RunDemo({.scenario = arguments.Get("scenario"),
                        .hardware = arguments.Get("hardware"),
                        .nvml = arguments.Get("nvml"),
                        .json = arguments.Has("json"),
                        .plain = arguments.Has("plain"),
                        .speed = *speed,
                        .keep = arguments.Has("keep")});
}

}  // namespace

Command DemoCommand() {
  return {
      .name = "demo",
      .summary = "watch it work, with no cluster and no hardware",
      .description =
          "Starts an agent and an embedded kubelet in a private temporary directory, "
          "plays a scenario on simulated devices and shows what happens. It checks "
          "that no law of device plugins is broken meanwhile, and fails if one is. "
          "Ctrl-C ends it and leaves nothing behind.",
      .options =
          {{.name = "--scenario",
            .value = "FILE",
            .help = "a scenario in YAML, or the name of one that ships: " +
                    Join(demo::ScenarioNames(), ", ")},
           {.name = "--hardware",
            .value = "FILE",
            .help = "a node with the NVIDIA GPUs that this file describes, such as "
                    "demo/hardware/8xa100.yaml"},
           {.name = "--nvml",
            .value = "LIBRARY",
            .help = "the fake NVML that has them; else libnvidia-ml.so.1 beside the program"},
           {.name = "--speed", .value = "N", .help = "so many times as fast", .fallback = "1"},
           {.name = "--plain", .help = "plain lines, also on a terminal"},
           {.name = "--json", .help = "one JSON object a line"},
           {.name = "--keep", .help = "keep the temporary directory, and say where it is"}},
      .examples = {{"tessera-sim demo", "About 20 seconds, from first light to summary."},
                   {"tessera-sim demo --scenario restart-storm --speed 2", "Something rougher."},
                   {"tessera-sim demo --hardware demo/hardware/8xa100.yaml", "Eight NVIDIA GPUs."}},
      .run = PlayDemo};
}

}  // namespace tessera::cli
