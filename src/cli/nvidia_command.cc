// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "agent/agent.h"
#include "cli/commands.h"
#include "cli/nvidia_words.h"
#include "compat/hami/load.h"
#include "kinds/kinds.h"
#include "mps/run.h"

namespace tessera::cli {
namespace {

config::LoadResult LoadFrom(const std::optional<std::string>& path, config::nvidia::Sources sources,
                            config::hami::NodeConfigFile& nodes) {
  if (path) sources.file = config::Document::Read(*path);
  return config::hami::LoadEither(FullSchema(), std::move(sources), nodes);
}

config::FileOptions OptionsOf(NvidiaWords words) {
  auto nodes = std::make_shared<config::hami::NodeConfigFile>(NodeConfigFileOf(words.sources));
  return {.file = std::move(words.file),
          .further_files = {nodes->path()},
          .load = [sources = std::move(words.sources), nodes](const auto& path) {
            return LoadFrom(path, sources, *nodes);
          }};
}

int ServeNvidia(const Arguments& arguments) {
  NvidiaWords words = ReadNvidiaWords(arguments, "agent nvidia", NvidiaCommand);
  if (words.exit_code) return *words.exit_code;
  agent::RunAgent(OptionsOf(std::move(words)));
}

// NVIDIA's MPS daemon gets no path on the host, and needs none.
int KeepMps(const Arguments& arguments) {
  NvidiaWords words = ReadNvidiaWords(arguments, "mps nvidia", NvidiaMpsCommand);
  if (words.exit_code) return *words.exit_code;
  words.sources.environment.try_emplace("MPS_ROOT", "/mps");
  mps::RunMps(OptionsOf(std::move(words)), false);
}

}  // namespace

Command NvidiaMpsCommand() {
  return {.name = "nvidia",
          .summary = "keep the MPS daemons by NVIDIA's configuration",
          .description =
              "Keeps the MPS control daemons as NVIDIA's mps-control-daemon does, by the same "
              "configuration file, flags and environment variables. Its files are below /mps. "
              "Under the name mps-control-daemon, the program is this command.",
          .options = NvidiaOptions(),
          .examples = {{"tessera mps nvidia --config-file /config/config.yaml",
                        "Share GPUs by a ConfigMap of NVIDIA's device plugin."}},
          .reads_words = true,
          .run = KeepMps};
}

Command NvidiaCommand() {
  return NvidiaCommandWith(NvidiaOptions());
}

Command NvidiaCommandWith(std::vector<Option> options) {
  return {
      .name = "nvidia",
      .summary = "serve this node in place of NVIDIA's or HAMi's device plugin",
      .description =
          "Serves the GPUs of this node by the file, flags and environment variables of NVIDIA's "
          "device plugin. With a file of HAMi's, it serves as HAMi's plugin does. The agent reads "
          "the file again when it changes and on SIGHUP. Under the name nvidia-device-plugin, the "
          "program is this command. Tessera's own flags stand before 'nvidia'.",
      .options = std::move(options),
      .examples = {{"tessera agent nvidia --config-file /config/config.yaml",
                    "Serve by a ConfigMap of NVIDIA's device plugin."},
                   {"tessera agent nvidia --pass-device-specs",
                    "Give containers the device nodes as well."}},
      .reads_words = true,
      .run = ServeNvidia};
}

}  // namespace tessera::cli
