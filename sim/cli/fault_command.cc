// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "backend/dummy/fault_file.h"
#include "cli/command/output.h"
#include "sim/cli/main.h"

namespace tessera::cli {
namespace {

int ChangeFaults(const Arguments& arguments) {
  const std::string verb = arguments.Get("VERB");
  const std::string resource = arguments.Get("RESOURCE");
  const std::string device = arguments.Get("DEVICE");
  const std::string file = arguments.Has("file")
                               ? arguments.Get("file")
                               : dummy::FaultFile(arguments.Get("state-dir"), resource);
  const Status done = dummy::ChangeFaultFile(file, verb, device, arguments.Get("DETAIL"));
  if (!done) return PrintFailure(done.error());
  return Print(fmt::format("{}: {}{}{}\n", verb, resource, device.empty() ? "" : "/", device));
}

}  // namespace

Command FaultCommand() {
  return {
      .name = "fault",
      .summary = "break and mend dummy devices",
      .description =
          "Writes faults into the fault file of a dummy resource's devices. Their agent reads it "
          "at once, or when it starts. Faults stay until they are removed.",
      .options =
          {{.name = "VERB", .help = "the fault", .choices = dummy::FaultVerbs(), .required = true},
           {.name = "RESOURCE", .help = "the resource, e.g. dummy.com/npu", .required = true},
           {.name = "DEVICE", .help = "the id of one device; not with lose-all and restore"},
           {.name = "DETAIL",
            .help = "why (fail, break, reset-fails), how long (slow) or how often (flap)"},
           {.name = "--state-dir",
            .value = "PATH",
            .help = "the agent's state directory, which contains the file",
            .fallback = "/var/lib/tessera",
            .environment = "TESSERA_STATE_DIR"},
           {.name = "--file",
            .value = "PATH",
            .help = "the file itself, if the configuration has 'dummy.faultFile'"}},
      .examples = {{"tessera-sim fault fail dummy.com/npu 7 'ECC error'",
                    "Device 7 fails its checks."},
                   {"tessera-sim fault heal dummy.com/npu 7", "Device 7 passes its checks again."},
                   {"tessera-sim fault flap dummy.com/npu 7 2s",
                    "Device 7 fails and recovers in turns."},
                   {"tessera-sim fault lose-all dummy.com/npu", "All devices disappear at once."},
                   {"tessera-sim fault restore dummy.com/npu", "Remove all faults."}},
      .run = ChangeFaults};
}

}  // namespace tessera::cli
