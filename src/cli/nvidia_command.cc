// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <optional>
#include <string>
#include <utility>

#include "agent/agent.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/help.h"
#include "cli/output.h"
#include "config/nvidia/load.h"
#include "config/nvidia/options.h"

namespace tessera::cli {
namespace {

constexpr std::string_view kPath = "agent nvidia";

Option Described(const config::nvidia::Option& option) {
  std::string note;
  for (size_t i = 1; i < option.flags.size(); ++i) {
    note += fmt::format("[also: --{}] ", option.flags[i]);
  }
  const std::string usual =
      option.usual.empty() ? config::nvidia::DefaultText(option) : option.usual;
  if (!usual.empty()) note += fmt::format("[default: {}] ", usual);
  note += fmt::format("[env: {}]", Join(option.variables, ", "));
  return {.name = "--" + option.flags.front(),
          .value = option.IsSwitch() ? "" : "TEXT",
          .help = option.doc,
          .note = note};
}

int Serve(const Arguments& arguments) {
  config::nvidia::Sources sources{.environment = config::nvidia::OwnEnvironment(),
                                  .line = config::nvidia::ParseCommandLine(arguments.words()),
                                  .own_environment = config::OwnEnvironment(),
                                  .own_flags = ConfigFlagsIn(arguments)};
  if (sources.line.help) return Print(HelpText(NvidiaCommand(), fmt::format("tessera {}", kPath)));
  if (sources.line.version) return VersionCommand().run({});
  if (!sources.line.errors.empty()) {
    PrintToError(config::Text(sources.line.errors));
    return kUsage;
  }
  if (ConfigFileIn(arguments)) {
    return PrintMisuse(kPath,
                       "--config names a file of Tessera's; write --config-file behind "
                       "'nvidia' for one of NVIDIA's device plugin");
  }
  std::string file = config::nvidia::ConfigFileOf(sources.line, sources.environment);
  agent::RunAgent(
      {.config_file = std::move(file), .load = [sources = std::move(sources)](const auto& path) {
         config::nvidia::Sources read = sources;
         if (path) read.file = config::Document::Read(*path);
         return config::nvidia::Load(read);
       }});
}

}  // namespace

Command NvidiaCommand() {
  Command command = {
      .name = "nvidia",
      .summary = "the daemon in the place of NVIDIA's device plugin",
      .description =
          "Serves the GPUs of this node as NVIDIA's device plugin is told to: the same "
          "configuration "
          "file, flags and environment variables. The file is read again when it changes and on "
          "SIGHUP. Under the name nvidia-device-plugin the program is this command. Tessera's own "
          "flags stand before 'nvidia'.",
      .examples = {{"tessera agent nvidia --config-file /config/config.yaml",
                    "Serve by a ConfigMap of NVIDIA's device plugin."},
                   {"tessera agent nvidia --pass-device-specs", "Hand device nodes over as well."}},
      .reads_words = true,
      .run = Serve};
  for (const config::nvidia::Option& option : config::nvidia::Options()) {
    command.options.push_back(Described(option));
  }
  return command;
}

}  // namespace tessera::cli
