// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <utility>

#include "agent/agent.h"
#include "cli/command/help.h"
#include "cli/command/output.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/go_flag_options.h"
#include "compat/rocm/command_line.h"
#include "config/load.h"
#include "kinds/kinds.h"

namespace tessera::cli {
namespace {

int ServeRocm(const Arguments& arguments) {
  namespace rocm = config::rocm;
  rocm::CommandLine line = rocm::ParseCommandLine(arguments.words());
  if (line.help) return Print(HelpText(RocmCommand(), "tessera agent rocm"));
  if (!line.errors.empty()) {
    PrintToError(config::Text(line.errors));
    return kUsage;
  }
  agent::RunAgent({.file = "",
                   .load = [line = std::move(line), environment = config::OwnEnvironment(),
                            flags = ConfigFlagsIn(arguments)](const std::optional<std::string>&) {
                     config::LoadResult result = config::Load(
                         FullSchema(),
                         {.file = config::Document::Parse("the command line", rocm::YamlOf(line)),
                          .environment = environment,
                          .flags = flags});
                     result.warnings.insert(result.warnings.begin(), line.warnings.begin(),
                                            line.warnings.end());
                     return result;
                   }});
}

}  // namespace

Command RocmCommand() {
  return {.name = "rocm",
          .summary = "serve this node in place of ROCm's device plugin",
          .description =
              "Serves the AMD GPUs of this node by the flags of ROCm's device plugin. Flags of its "
              "log have no effect. Under the name k8s-device-plugin, the program is this command. "
              "Tessera's own flags stand before 'rocm'.",
          .options = GoFlagOptions(config::rocm::Flags()),
          .examples = {{"tessera agent rocm -resource_naming_strategy=mixed -pulse=30",
                        "Serve partitions by their profiles."}},
          .reads_words = true,
          .run = ServeRocm};
}

}  // namespace tessera::cli
