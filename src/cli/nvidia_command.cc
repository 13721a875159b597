// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <functional>
#include <map>
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
#include "mps/run.h"

namespace tessera::cli {
namespace {

constexpr std::string_view kPath = "agent nvidia";
constexpr std::string_view kMpsPath = "mps nvidia";

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

// Runs a daemon by the words of NVIDIA's programs.
int RunBy(const Arguments& arguments, std::string_view path, const Command& command,
          std::map<std::string, std::string> environment,
          const std::function<void(const agent::AgentOptions&)>& run) {
  config::nvidia::Sources sources{.environment = std::move(environment),
                                  .line = config::nvidia::ParseCommandLine(arguments.words()),
                                  .own_environment = config::OwnEnvironment(),
                                  .own_flags = ConfigFlagsIn(arguments)};
  if (sources.line.help) return Print(HelpText(command, fmt::format("tessera {}", path)));
  if (sources.line.version) return VersionCommand().run({});
  if (!sources.line.errors.empty()) {
    PrintToError(config::Text(sources.line.errors));
    return kUsage;
  }
  if (ConfigFileIn(arguments)) {
    return PrintMisuse(path,
                       "--config names a file of Tessera's; write --config-file behind "
                       "'nvidia' for one of NVIDIA's device plugin");
  }
  std::string file = config::nvidia::ConfigFileOf(sources.line, sources.environment);
  run({.config_file = std::move(file), .load = [sources = std::move(sources)](const auto& at) {
         config::nvidia::Sources read = sources;
         if (at) read.file = config::Document::Read(*at);
         return config::nvidia::Load(read);
       }});
  return kOk;
}

int Serve(const Arguments& arguments) {
  return RunBy(arguments, kPath, NvidiaCommand(), config::nvidia::OwnEnvironment(),
               agent::RunAgent);
}

// NVIDIA's MPS daemon is not told where its files are on the host, and need not know.
int KeepMps(const Arguments& arguments) {
  std::map<std::string, std::string> environment = config::nvidia::OwnEnvironment();
  environment.try_emplace("MPS_ROOT", "/mps");
  return RunBy(arguments, kMpsPath, NvidiaMpsCommand(), std::move(environment),
               [](const agent::AgentOptions& options) { mps::RunMps(options, false); });
}

void AddOptions(Command& command) {
  for (const config::nvidia::Option& option : config::nvidia::Options()) {
    command.options.push_back(Described(option));
  }
}

}  // namespace

Command NvidiaMpsCommand() {
  Command command = {
      .name = "nvidia",
      .summary = "the MPS daemons by NVIDIA's configuration",
      .description =
          "Keeps the MPS control daemons as NVIDIA's mps-control-daemon does, by the same "
          "configuration file, flags and environment variables; its files are below /mps. Under "
          "the name mps-control-daemon the program is this command.",
      .examples = {{"tessera mps nvidia --config-file /config/config.yaml",
                    "Share GPUs by a ConfigMap of NVIDIA's device plugin."}},
      .reads_words = true,
      .run = KeepMps};
  AddOptions(command);
  return command;
}

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
  AddOptions(command);
  return command;
}

}  // namespace tessera::cli
