// SPDX-License-Identifier: Apache-2.0
// The command line of `tessera-sim kubelet`. Its commands run in kubelet_command.cc.
#include <fmt/format.h>

#include "cli/command/numbers.h"
#include "cli/command/output.h"
#include "sim/cli/kubelet_command.h"
#include "sim/cli/main.h"

namespace tessera::cli {
namespace {

int ServeKubelet(const Arguments& arguments) {
  auto speed = ParseNumber<int>(arguments.Get("speed"));
  auto seed = ParseNumber<uint64_t>(arguments.Get("seed"));
  if (!speed || *speed < 1) return PrintMisuse("kubelet", "--speed takes a whole number above 0");
  if (!seed) return PrintMisuse("kubelet", "--seed takes a whole number");
  if (!arguments.Has("dir")) return PrintMisuse("kubelet", "--dir is required");
  kubelet::EmbeddedOptions options;
  options.root = arguments.Get("dir");
  options.rules = arguments.Get("rules") == "1.37" ? kubelet::ConnectionRules::kFrom137
                                                   : kubelet::ConnectionRules::kUpTo136;
  options.speed = *speed;
  options.seed = *seed;
  return RunKubelet(options);
}

// The words that follow the verb, as KubeletControl takes them: arguments, then flags.
std::vector<std::string> Words(const Arguments& arguments, const std::vector<Option>& options) {
  std::vector<std::string> words;
  for (const Option& option : options) {
    std::string key = option.Key();
    if (key == "dir" || !arguments.Has(key)) continue;
    if (option.IsFlag()) words.push_back(option.name);
    if (!option.IsFlag() || !option.value.empty()) words.push_back(arguments.Get(key));
  }
  for (const auto& [key, value] : arguments.repeated()) {
    words.insert(words.end(), {"--" + key, value});
  }
  return words;
}

Option DirOption() {
  return {.name = "--dir",
          .value = "DIR",
          .help = "kubelet's root, with device-plugins, plugins_registry and pod-resources"};
}

// An order to the embedded kubelet in --dir.
Command Order(std::string name, std::string summary, std::vector<Option> options,
              std::string example) {
  Command order = {
      .name = name,
      .summary = summary,
      .description = "Orders the embedded kubelet that runs in --dir to " + summary + ".",
      .options = std::move(options),
      .examples = {{"tessera-sim kubelet " + name + example + " --dir /tmp/k",
                    "The order, to the one in /tmp/k."}}};
  order.run = [name, taken = order.options](const Arguments& arguments) {
    if (!arguments.Has("dir")) return PrintMisuse("kubelet " + name, "--dir is required");
    return KubeletControl(arguments.Get("dir"), name, Words(arguments, taken));
  };
  order.options.push_back(DirOption());
  return order;
}

Option Container(std::string name, std::string_view kind) {
  return {.name = std::move(name),
          .value = "R=N,...",
          .help = fmt::format("{} with these limits", kind),
          .repeated = true};
}

std::vector<Command> Orders() {
  Option pod = {.name = "POD", .help = "NAME or NAMESPACE/NAME", .required = true};
  return {
      Order("status", "show the resources, who holds what, and the pods", {}, ""),
      Order("run", "admit a pod and start its containers",
            {pod, Container("--limits", "a container"), Container("--init", "an init container"),
             Container("--sidecar", "a sidecar")},
            " train --limits dummy.com/npu=2"),
      Order("end", "end a pod, so that its devices are free again", {pod}, " train"),
      Order("restart-container", "start a container again after it ended",
            {pod, {.name = "CONTAINER", .help = "the container's name", .required = true}},
            " train app"),
      Order("drop", "close the connection to a resource's plugin",
            {{.name = "RESOURCE", .help = "e.g. dummy.com/npu", .required = true}},
            " dummy.com/npu"),
      Order("restart", "stop as on SIGTERM and start again", {}, ""),
      Order("kill", "end as on SIGKILL", {}, ""),
      Order("start", "start after a kill", {}, ""),
      Order("events", "show what happened",
            {{.name = "--last", .value = "N", .help = "only the last N"},
             {.name = "--follow", .help = "continue until interrupted"}},
            " --follow"),
  };
}

}  // namespace

Command KubeletCommand() {
  return {.name = "kubelet",
          .summary = "run an embedded kubelet, for developers of device plugins",
          .description =
              "Runs kubelet's device manager alone, without a cluster. Plugins register with it as "
              "with the real kubelet, and the commands below admit pods. It serves device plugin "
              "API v1beta1, the plugin watcher, kubelet's checkpoint and pod-resources. It runs "
              "until SIGINT or SIGTERM.",
          .options = {DirOption(),
                      {.name = "--rules",
                       .value = "VERSION",
                       .help = "the kubelet version of its rules for connections",
                       .fallback = "1.36",
                       .choices = {"1.36", "1.37"}},
                      {.name = "--speed",
                       .value = "N",
                       .help = "divides kubelet's long waits, such as the grace of 5 minutes",
                       .fallback = "1"},
                      {.name = "--seed",
                       .value = "N",
                       .help = "the seed of the random order in which ids are offered",
                       .fallback = "1"}},
          .examples = {{"tessera-sim kubelet --dir /tmp/k",
                        "Run it; your plugin registers at "
                        "/tmp/k/device-plugins/kubelet.sock."},
                       {"tessera-sim kubelet run train --limits dummy.com/npu=2 --dir /tmp/k",
                        "From another shell: a pod that asks for two."}},
          .commands = Orders(),
          .run = ServeKubelet};
}

}  // namespace tessera::cli
