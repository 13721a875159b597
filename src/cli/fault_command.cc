// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "backend/dummy/faults.h"
#include "cli/command/output.h"
#include "cli/commands.h"
#include "cli/control.h"

namespace tessera::cli {
namespace {

int InjectFault(const Arguments& arguments) {
  std::string verb = arguments.Get("VERB");
  std::string resource = arguments.Get("RESOURCE");
  std::string device = arguments.Get("DEVICE");
  auto done = TellAgent(arguments, "/fault",
                        {{"resource", resource},
                         {"verb", verb},
                         {"device", device},
                         {"detail", arguments.Get("DETAIL")}});
  if (!done) return PrintFailure(done.error());
  return Print(fmt::format("{}: {}{}{}\n", verb, resource, device.empty() ? "" : "/", device));
}

}  // namespace

Command FaultCommand() {
  return {
      .name = "fault",
      .summary = "break and mend dummy devices",
      .description =
          "Does something to the devices of a dummy resource, to see how everything "
          "around them takes it. Real devices are left alone. Faults stay until they "
          "are taken back, also when the agent is restarted.",
      .options =
          {{.name = "VERB", .help = "what to do", .choices = dummy::FaultVerbs(), .required = true},
           {.name = "RESOURCE", .help = "the resource, e.g. dummy.com/npu", .required = true},
           {.name = "DEVICE", .help = "the id of one device; not with lose-all and restore"},
           {.name = "DETAIL",
            .help = "why (fail, break, reset-fails), how long (slow) or how often (flap)"},
           ControlOption()},
      .examples = {{"tessera fault fail dummy.com/npu 7 'ECC error'", "Device 7 fails its checks."},
                   {"tessera fault heal dummy.com/npu 7", "It is well again."},
                   {"tessera fault flap dummy.com/npu 7 2s", "It fails and recovers by turns."},
                   {"tessera fault lose-all dummy.com/npu", "All devices are gone at once."},
                   {"tessera fault restore dummy.com/npu", "Take all faults back."}},
      .run = InjectFault};
}

}  // namespace tessera::cli
