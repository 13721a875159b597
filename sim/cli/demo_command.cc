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
      .summary = "play a scenario, without a cluster or hardware",
      .description =
          "Starts an agent and an embedded kubelet in a private temporary directory, plays a "
          "scenario on simulated devices and shows what happens. It checks the laws of device "
          "plugins all the time, and fails if one is broken. Ctrl-C ends it and removes the "
          "directory.",
      .options = {{.name = "--scenario",
                   .value = "FILE",
                   .help = "a scenario in YAML, or the name of one that ships: " +
                           Join(demo::ScenarioNames(), ", ")},
                  {.name = "--hardware",
                   .value = "FILE",
                   .help = "a file that describes the hardware of the node, such as "
                           "demo/hardware/8xa100.yaml"},
                  {.name = "--nvml",
                   .value = "LIBRARY",
                   .help = "the fake NVML; by default libnvidia-ml.so.1 next to the program"},
                  {.name = "--speed", .value = "N", .help = "the factor of speed", .fallback = "1"},
                  {.name = "--plain", .help = "plain lines, also on a terminal"},
                  {.name = "--json", .help = "one JSON object a line"},
                  {.name = "--keep", .help = "keep the temporary directory, and print its path"}},
      .examples = {{"tessera-sim demo", "Play the default scenario, about 20 seconds."},
                   {"tessera-sim demo --scenario restart-storm --speed 2",
                    "Play restarts, at twice the speed."},
                   {"tessera-sim demo --hardware demo/hardware/8xa100.yaml",
                    "Play on eight NVIDIA GPUs."},
                   {"tessera-sim demo --hardware demo/hardware/8xmi300x.yaml",
                    "Play on eight AMD GPUs."},
                   {"tessera-sim demo --hardware demo/hardware/8gpus8nics.yaml",
                    "Play on eight AMD GPUs beside eight network cards."},
                   {"tessera-sim demo --hardware demo/hardware/8xascend910b.yaml",
                    "Play on eight Ascend NPUs."}},
      .run = PlayDemo};
}

}  // namespace tessera::cli
