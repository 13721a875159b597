// SPDX-License-Identifier: Apache-2.0
// The command line of `tessera config`. Its commands run in config_command.cc.
#include <fmt/core.h>

#include <map>
#include <string>
#include <utility>

#include "cli/command/output.h"
#include "cli/commands.h"
#include "cli/config_command.h"
#include "cli/config_flags.h"
#include "cli/nvidia_words.h"
#include "config/load.h"

namespace tessera::cli {
namespace {

ConfigForm FormIn(const Arguments& arguments) {
  return arguments.Get("output") == "json" ? ConfigForm::kJson : ConfigForm::kYaml;
}

Command PrintNvidiaCommand();

int PrintNvidia(const Arguments& arguments) {
  NvidiaWords words = ReadNvidiaWords(arguments, "config print nvidia", PrintNvidiaCommand);
  if (words.exit_code) return *words.exit_code;
  return ConfigPrint(LoadOnce(std::move(words)), FormIn(arguments), stdout, stderr);
}

Command PrintNvidiaCommand() {
  return {.name = "nvidia",
          .summary = "print a configuration of NVIDIA's or HAMi's device plugin as Tessera uses it",
          .description =
              "Prints the configuration that 'tessera agent nvidia' would use with the same "
              "arguments and variables. It takes a file of NVIDIA's or HAMi's device plugin, and "
              "their flags. Tessera's own flags stand before 'nvidia'.",
          .options = NvidiaOptions(),
          .examples = {{"tessera config print nvidia --config-file /device-config.yaml",
                        "See HAMi's configuration as this node uses it."}},
          .reads_words = true,
          .run = PrintNvidia};
}

int PrintConfig(const Arguments& arguments) {
  ConfigSources sources{.file = ConfigFileIn(arguments),
                        .environment = config::OwnEnvironment(),
                        .flags = ConfigFlagsIn(arguments)};
  return ConfigPrint(sources, FormIn(arguments), stdout, stderr);
}

int CheckConfig(const Arguments& arguments) {
  return ConfigCheck(arguments.Get("FILE"), stdout, stderr);
}

int ConvertConfig(const Arguments& arguments) {
  std::map<std::string, std::string> variables;
  for (const auto& [flag, text] : arguments.repeated()) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return PrintMisuse("config convert", fmt::format("--env takes NAME=VALUE, not '{}'", text));
    }
    variables.insert_or_assign(text.substr(0, equals), text.substr(equals + 1));
  }
  return ConfigConvert(arguments.Get("FILE"), arguments.Get("node-config"), variables,
                       arguments.Has("all") ? Extent::kAll : Extent::kChanged, stdout, stderr);
}

Command PrintCommand() {
  Command print = {
      .name = "print",
      .summary = "print the configuration in force, and where each value comes from",
      .description =
          "Prints the configuration as the agent would use it, with the origin of every value. An "
          "origin is a file and line, an environment variable, a flag, the sign that the container "
          "runtime reads CDI, or the default.",
      .options = ConfigFlags(),
      .examples = {{"tessera config print --config ./try.yaml", "See what this file sets."}},
      .commands = {PrintNvidiaCommand()},
      .run = PrintConfig};
  print.options.push_back(OutputOption({"yaml", "json"}));
  return print;
}

}  // namespace

Command ConfigCommand() {
  Command check = {
      .name = "check",
      .summary = "check a configuration file",
      .description =
          "Reads a configuration file and prints every error with line, column and the nearest "
          "valid key. It exits with 1 if there is an error. Warnings alone are no error. A file "
          "with the keys of NVIDIA's or HAMi's device plugin is checked as 'tessera agent nvidia' "
          "reads it. The first line then says so.",
      .options = {{.name = "FILE", .help = "the file", .fallback = config::kDefaultFile}},
      .examples = {{"tessera config check ./tessera.yaml", "Check it before a rollout."}},
      .run = CheckConfig};
  Command convert = {
      .name = "convert",
      .summary = "convert a file of NVIDIA's or HAMi's device plugin",
      .description =
          "Reads a configuration file of NVIDIA's device plugin, or HAMi's device-config.yaml, and "
          "prints an equal configuration of Tessera. It prints the values that differ from the "
          "defaults, each with its origin, or with --all every key. Settings without effect are "
          "named on standard error. A setting that Tessera does not support is an error, and no "
          "configuration is printed.",
      .options = {{.name = "FILE", .help = "the file", .required = true},
                  {.name = "--env",
                   .value = "NAME=VALUE",
                   .help = "an environment variable of the plugin; may be repeated",
                   .repeated = true},
                  {.name = "--all", .help = "print values that equal the default, too"},
                  {.name = "--node-config",
                   .value = "FILE",
                   .help = "HAMi's config.json; its entries for NODE_NAME count"}},
      .examples = {{"tessera config convert ./config.yaml > tessera.yaml",
                    "Convert it once and for all."},
                   {"tessera config convert ./config.yaml --env DP_DISABLE_HEALTHCHECKS=79",
                    "With a variable of the DaemonSet."},
                   {"tessera config convert ./device-config.yaml",
                    "Convert HAMi's configuration."}},
      .run = ConvertConfig};
  Command schema = {
      .name = "schema",
      .summary = "print the JSON Schema of the file, for editors",
      .description =
          "Prints the JSON Schema of the configuration file. Editors complete and check the file "
          "with it.",
      .examples = {{"tessera config schema > tessera.schema.json", "For your editor."}},
      .run = [](const Arguments&) { return ConfigSchema(stdout); }};
  return {.name = "config",
          .summary = "print, check and convert the configuration",
          .description =
              "Prints, checks and converts the configuration. docs/reference/configuration.md "
              "describes every key.",
          .commands = {PrintCommand(), check, convert, schema}};
}

}  // namespace tessera::cli
