// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/main.h"

#include <string>
#include <vector>

#include "cli/command/output.h"
#include "cli/command/parse.h"
#include "cli/command/version_command.h"

namespace tessera::cli {

Command SimProgram() {
  return {
      .name = "tessera-sim",
      .summary = "runs Tessera without a cluster or hardware",
      .description =
          "Simulated devices and an embedded kubelet, for the real 'tessera agent' next to this "
          "program.",
      .examples = {{"tessera-sim demo", "Play a scenario on simulated devices."},
                   {"tessera-sim kubelet --dir /tmp/k", "Run a kubelet for a device plugin."},
                   {"tessera-sim fault fail dummy.com/npu 7", "Break a device."}},
      .commands = {DemoCommand(), KubeletCommand(), FaultCommand(), VersionCommand("tessera-sim")}};
}

int SimMain(int argc, char** argv) {
  SetProgramName("tessera-sim");
  std::vector<std::string> words(argv + 1, argv + argc);
  TranslateHabits(words);
  return Run(SimProgram(), words);
}

}  // namespace tessera::cli
