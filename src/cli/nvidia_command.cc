// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include "agent/agent.h"
#include "cli/commands.h"
#include "cli/nvidia_words.h"
#include "config/nvidia/load.h"

namespace tessera::cli {
namespace {

int Serve(const Arguments& arguments) {
  NvidiaWords words = ReadNvidiaWords(arguments, "agent nvidia", NvidiaCommand());
  if (words.exit_code) return *words.exit_code;
  agent::RunAgent({.config_file = std::move(words.file),
                   .load = [sources = std::move(words.sources)](const auto& path) {
                     config::nvidia::Sources read = sources;
                     if (path) read.file = config::Document::Read(*path);
                     return config::nvidia::Load(read);
                   }});
}

}  // namespace

Command NvidiaCommand() {
  return {
      .name = "nvidia",
      .summary = "the daemon in the place of NVIDIA's device plugin",
      .description =
          "Serves the GPUs of this node as NVIDIA's device plugin is told to: the same "
          "configuration "
          "file, flags and environment variables. The file is read again when it changes and on "
          "SIGHUP. Under the name nvidia-device-plugin the program is this command. Tessera's own "
          "flags stand before 'nvidia'.",
      .options = NvidiaOptions(),
      .examples = {{"tessera agent nvidia --config-file /config/config.yaml",
                    "Serve by a ConfigMap of NVIDIA's device plugin."},
                   {"tessera agent nvidia --pass-device-specs", "Hand device nodes over as well."}},
      .reads_words = true,
      .run = Serve};
}

}  // namespace tessera::cli
