// SPDX-License-Identifier: Apache-2.0
// The command line of `tessera config`; what its commands do is in config_command.cc.
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
          .summary = "the same of a configuration of NVIDIA's or HAMi's device plugin",
          .description =
              "Prints the configuration as 'tessera agent nvidia' would use it that is started "
              "with the same words and variables: a file of NVIDIA's device plugin or of HAMi's, "
              "and their flags. Tessera's own flags stand before 'nvidia'.",
          .options = NvidiaOptions(),
          .examples = {{"tessera config print nvidia --config-file /device-config.yaml",
                        "What does HAMi's configuration amount to on this node?"}},
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
      .summary = "the configuration that counts, and where each value comes from",
      .description =
          "Prints the configuration as the agent would use it, with the origin of every "
          "value: the file and line, an environment variable, a flag, what shows that the "
          "container runtime reads CDI, or the default.",
      .options = ConfigFlags(),
      .examples = {{"tessera config print --config ./try.yaml", "What does this file amount to?"}},
      .commands = {PrintNvidiaCommand()},
      .run = PrintConfig};
  print.options.push_back(OutputOption({"yaml", "json"}));
  return print;
}

}  // namespace

Command ConfigCommand() {
  Command check = {
      .name = "check",
      .summary = "whether a file is a good configuration",
      .description =
          "Reads a configuration file and says everything that is wrong with it, with "
          "line, column and what was probably meant. Exits with 1 when there is an "
          "error; warnings alone are no error. A file of NVIDIA's or HAMi's device plugin, which "
          "shows by its keys, is checked as 'tessera agent nvidia' reads it; the first line says "
          "so.",
      .options = {{.name = "FILE", .help = "the file", .fallback = config::kDefaultFile}},
      .examples = {{"tessera config check ./tessera.yaml", "Before it is rolled out."}},
      .run = CheckConfig};
  Command convert = {
      .name = "convert",
      .summary = "a file of NVIDIA's or HAMi's device plugin as one of Tessera's",
      .description =
          "Reads a configuration file of NVIDIA's device plugin, or HAMi's device-config.yaml, and "
          "prints the configuration of Tessera that does the same, with the origin of each value: "
          "what differs from the defaults, or with --all every key. "
          "What has no effect is said on standard error; what Tessera "
          "does not serve is an error, and then nothing is printed.",
      .options = {{.name = "FILE", .help = "the file", .required = true},
                  {.name = "--env",
                   .value = "NAME=VALUE",
                   .help = "a variable that the plugin is started with; may be repeated",
                   .repeated = true},
                  {.name = "--all", .help = "print what is as by default, too"},
                  {.name = "--node-config",
                   .value = "FILE",
                   .help = "HAMi's config.json, of which the entries for NODE_NAME count"}},
      .examples = {{"tessera config convert ./config.yaml > tessera.yaml", "Move over for good."},
                   {"tessera config convert ./config.yaml --env DP_DISABLE_HEALTHCHECKS=79",
                    "With a variable of the DaemonSet."},
                   {"tessera config convert ./device-config.yaml",
                    "What HAMi's configuration amounts to."}},
      .run = ConvertConfig};
  Command schema = {
      .name = "schema",
      .summary = "the JSON Schema of the file, for editors",
      .description =
          "Prints the JSON Schema of the configuration file. Editors complete and check "
          "by it.",
      .examples = {{"tessera config schema > tessera.schema.json", "For your editor."}},
      .run = [](const Arguments&) { return ConfigSchema(stdout); }};
  return {.name = "config",
          .summary = "print, check and convert the configuration",
          .description =
              "Prints, checks and converts the configuration. Every key is described in "
              "docs/reference/configuration.md.",
          .commands = {PrintCommand(), check, convert, schema}};
}

}  // namespace tessera::cli
