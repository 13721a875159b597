// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include "cli/command/output.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/nvidia_words.h"
#include "compat/nvidia/options.h"
#include "config/load.h"
#include "config/schema/problem.h"
#include "kinds/kinds.h"
#include "report/label_file.h"
#include "report/label_sync.h"

namespace tessera::cli {
namespace {

// Writes the labels to the file; empty: to standard output.
int Tell(const config::LoadResult& loaded, const std::string& file) {
  if (!loaded.ok()) {
    PrintToError(config::Text(loaded.errors));
    return kFailed;
  }
  Labels labels;
  for (const auto& labeller : LabellersOf(loaded.schema->kinds(), loaded.config)) {
    Result<Labels> read = labeller->Read();
    if (!read) return PrintFailure(read.error());
    labels.merge(*std::move(read));
  }
  if (file.empty()) return Print(LabelLines(labels));
  const Result<bool> written = WriteLabelFile(file, labels);
  return written ? kOk : PrintFailure(written.error());
}

std::string FileIn(const Arguments& arguments) {
  return arguments.Has("output-file") ? arguments.Get("output-file") : "";
}

// The output file by flag or variable of feature discovery. A file in the plugin's configuration is
// for the service that keeps running.
std::string FileIn(const config::nvidia::Sources& sources) {
  const auto* option = config::nvidia::OptionOfFlag("output-file");
  const auto given = sources.line.given.find(option);
  if (given != sources.line.given.end()) return given->second.back();
  const auto variable = sources.environment.find(option->variables.front());
  return variable == sources.environment.end() ? "" : variable->second;
}

int Show(const Arguments& arguments) {
  return Tell(config::LoadFile(FullSchema(), ConfigFileIn(arguments), config::OwnEnvironment(),
                               ConfigFlagsIn(arguments)),
              FileIn(arguments));
}

Command OfNvidia();

int ShowNvidia(const Arguments& arguments) {
  NvidiaWords words = ReadNvidiaWords(arguments, "labels nvidia", OfNvidia);
  if (words.exit_code) return *words.exit_code;
  const std::string file = arguments.Has("output-file") ? FileIn(arguments) : FileIn(words.sources);
  return Tell(LoadOnce(std::move(words)), file);
}

Command OfNvidia() {
  return {.name = "nvidia",
          .summary = "print the labels by the configuration of NVIDIA's device plugin",
          .description =
              "Reads the configuration file, flags and environment variables of NVIDIA's device "
              "plugin, including the 'gfd' part of the file. Tessera's own flags stand before "
              "'nvidia'.",
          .options = NvidiaOptions(),
          .examples = {{"tessera labels nvidia --config-file /config/config.yaml",
                        "See the labels by a ConfigMap of NVIDIA's device plugin."}},
          .reads_words = true,
          .run = ShowNvidia};
}

std::vector<Option> Options() {
  std::vector<Option> options = {
      {.name = "--output-file",
       .value = "FILE",
       .help = "write the labels into this feature file of node feature discovery, unless it has "
               "them already"},
      {.name = "--oneshot", .help = "no effect: this command always runs once"}};
  for (Option& option : ConfigFlags()) options.push_back(std::move(option));
  return options;
}

}  // namespace

Command LabelsCommand() {
  return {
      .name = "labels",
      .summary = "print the node's GPU labels",
      .description =
          "Prints the labels of this node, one a line, with the names and values of NVIDIA's GPU "
          "feature discovery. They come from the driver and the agent's configuration. The agent "
          "need not run. With 'labels.output: file', the agent keeps such a file by itself.",
      .options = Options(),
      .examples = {{"tessera labels", "See the labels of this node."},
                   {"tessera labels --output-file /run/features.d/gfd",
                    "Write them into a feature file."}},
      .commands = {OfNvidia()},
      .run = Show};
}

}  // namespace tessera::cli
