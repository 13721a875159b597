// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "cli/command/output.h"
#include "cli/commands.h"
#include "compat/config_manager/choose_config.h"
#include "compat/config_manager/config_choice.h"

namespace tessera::cli {
namespace {

constexpr std::string_view kPath = "config-manager";

// Parses a switch as Go does.
std::optional<bool> ParseSwitch(std::string_view text) {
  for (const char* word : {"1", "t", "T", "true", "TRUE", "True"}) {
    if (text == word) return true;
  }
  for (const char* word : {"", "0", "f", "F", "false", "FALSE", "False"}) {
    if (text == word) return false;
  }
  return std::nullopt;
}

std::optional<int> ParseSignal(std::string_view text) {
  int number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size() || number < 1 || number > 64) {
    return std::nullopt;
  }
  return number;
}

int RunConfigManager(const Arguments& arguments) {
  const auto oneshot = ParseSwitch(arguments.Get("oneshot"));
  const auto send = ParseSwitch(arguments.Get("send-signal"));
  if (!oneshot) return PrintMisuse(kPath, "--oneshot must be true or false");
  if (!send) return PrintMisuse(kPath, "--send-signal must be true or false");
  // Without a receiver the chart leaves the signal empty.
  const auto signal = *send ? ParseSignal(arguments.Get("signal")) : 0;
  if (!signal) return PrintMisuse(kPath, "--signal must be a signal's number, 1 to 64");
  auto fallbacks = config_manager::ParseFallbacks(arguments.Get("fallback-strategies"));
  if (!fallbacks) return PrintMisuse(kPath, fallbacks.error().message);
  return config_manager::RunConfigChoice(
      {.oneshot = *oneshot,
       .kubeconfig = arguments.Get("kubeconfig"),
       .node = arguments.Get("node-name"),
       .label = arguments.Get("node-label"),
       .directory = arguments.Get("config-file-srcdir"),
       .link = arguments.Get("config-file-dst"),
       .rules = {.usual = arguments.Get("default-config"), .fallbacks = *std::move(fallbacks)},
       .signal = *signal,
       .process = arguments.Get("process-to-signal")});
}

Option Flag(std::string name, std::string variable, std::string help, std::string fallback = "",
            bool required = false) {
  return {.name = std::move(name),
          .value = "TEXT",
          .help = std::move(help),
          .fallback = std::move(fallback),
          .environment = std::move(variable),
          .required = required};
}

}  // namespace

Command ConfigManagerCommand() {
  return {
      .name = std::string(kPath),
      .summary = "follow the configuration that the node's label names",
      .description =
          "Replaces NVIDIA's config-manager. A label of the node names one of several "
          "configuration files. The command keeps a link to that file at the path where the device "
          "plugin reads its configuration, and follows changes of the label. A label that names no "
          "file leaves the link as it is. Under the name config-manager, the program is this "
          "command.",
      .options =
          {Flag("--config-file-srcdir", "CONFIG_FILE_SRCDIR",
                "The directory with the configuration files.", "", true),
           Flag("--config-file-dst", "CONFIG_FILE_DST", "The path of the link.", "", true),
           Flag("--node-name", "NODE_NAME", "The name of this node at the API server.", "", true),
           Flag("--node-label", "NODE_LABEL", "The label.", "nvidia.com/device-plugin.config"),
           Flag("--default-config", "DEFAULT_CONFIG", "The file of nodes without the label."),
           Flag("--fallback-strategies", "FALLBACK_STRATEGIES",
                "The link's target if there is no such file, in this order: named (the file "
                "\"default\"), single (the only file), empty (an empty configuration)."),
           Flag("--oneshot", "ONESHOT", "End once the link is made: true or false.", "false"),
           Flag("--kubeconfig", "KUBECONFIG", "The kubeconfig for the API server, outside a pod."),
           Flag("--send-signal", "SEND_SIGNAL",
                "Signal a process when the link changes: true or false. Tessera's agent notices it "
                "without a signal.",
                "true"),
           Flag("--signal", "SIGNAL", "The signal's number.", "1"),
           Flag("--process-to-signal", "PROCESS_TO_SIGNAL",
                "The first word of the process's command line.", "nvidia-device-plugin")},
      .examples = {{"NODE_NAME=worker-1 tessera config-manager --config-file-srcdir /all \\\n"
                    "    --config-file-dst /config/config.yaml",
                    "Follow the label nvidia.com/device-plugin.config."}},
      .run = RunConfigManager};
}

}  // namespace tessera::cli
