// SPDX-License-Identifier: Apache-2.0
#include "cli/nvidia_words.h"

#include <fmt/core.h>

#include <utility>

#include "base/text.h"
#include "cli/command/help.h"
#include "cli/command/output.h"
#include "cli/command/version_command.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "compat/hami/options.h"
#include "compat/nvidia/options.h"
#include "config/load.h"
#include "kinds/kinds.h"

namespace tessera::cli {
namespace {

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

Option Described(const config::hami::Option& option) {
  std::string note = "[with a file of HAMi's] ";
  if (!option.variables.empty()) note += fmt::format("[env: {}]", Join(option.variables, ", "));
  return {.name = fmt::format("--{}", option.flag),
          .value = option.IsSwitch() ? "" : "TEXT",
          .help = std::string(option.doc),
          .note = std::string(Trim(note))};
}

}  // namespace

std::vector<Option> NvidiaOptions() {
  std::vector<Option> options;
  for (const config::nvidia::Option& option : config::nvidia::Options()) {
    options.push_back(Described(option));
  }
  for (const config::hami::Option& option : config::hami::Options()) {
    if (!option.flag.empty()) options.push_back(Described(option));
  }
  return options;
}

std::string NodeConfigFileOf(const config::nvidia::Sources& sources) {
  std::string prefix;
  const auto take = [&](const auto& values, const char* name) {
    if (const auto found = values.find(name); found != values.end()) prefix = found->second;
  };
  take(sources.own_environment, "TESSERA_ROOT_PREFIX");
  take(sources.own_flags, "root-prefix");
  return prefix + config::hami::kNodeConfigFile;
}

NvidiaWords ReadNvidiaWords(const Arguments& arguments, std::string_view path,
                            Command (*command)()) {
  NvidiaWords words{.sources = {.environment = config::hami::OwnEnvironment(),
                                .line = config::nvidia::ParseCommandLine(
                                    arguments.words(), config::hami::FurtherFlags()),
                                .own_environment = config::OwnEnvironment(),
                                .own_flags = ConfigFlagsIn(arguments)}};
  const config::nvidia::CommandLine& line = words.sources.line;
  if (line.help) {
    words.exit_code = Print(HelpText(command(), fmt::format("tessera {}", path)));
  } else if (line.version) {
    words.exit_code = VersionCommand("tessera").run({});
  } else if (!line.errors.empty()) {
    PrintToError(config::Text(line.errors));
    words.exit_code = kUsage;
  } else if (ConfigFileIn(arguments)) {
    words.exit_code = PrintMisuse(path,
                                  "--config names a file of Tessera; for one of NVIDIA's device "
                                  "plugin, write --config-file after 'nvidia'");
  }
  words.file = config::nvidia::ConfigFileOf(line, words.sources.environment);
  return words;
}

config::LoadResult LoadOnce(NvidiaWords words) {
  if (!words.file.empty()) words.sources.file = config::Document::Read(words.file);
  config::hami::NodeConfigFile nodes(NodeConfigFileOf(words.sources));
  return config::hami::LoadEither(FullSchema(), std::move(words.sources), nodes);
}

}  // namespace tessera::cli
