// SPDX-License-Identifier: Apache-2.0
#include "compat/rdma_shared/flags.h"

namespace tessera::config::rdma_shared {
namespace {

constexpr char kUseCdi[] = "use-cdi";

constexpr GoFlag kSharedFlags[] = {
    {"config-file", "FILE", "The plugin's file: /k8s-rdma-shared-dev-plugin/config.json."},
    {kUseCdi, "", "It has no effect: containers get the same nodes from kubelet."},
    {"logtostderr"},
    {"alsologtostderr"},
    {"stderrthreshold", "LEVEL"},
    {"v"},  // of this plugin its version
    {"version"},
    {"vmodule", "LEVELS"},
    {"log_dir", "DIRECTORY"},
};

}  // namespace

std::span<const GoFlag> Flags() {
  return kSharedFlags;
}

GoCommandLine ParseFlags(std::span<const std::string> words, std::span<const GoFlag> flags) {
  GoCommandLine line = ParseGoFlags(flags, words);
  if (line.ValueOf(kUseCdi, "false") == "true") {
    line.warnings.push_back(
        BadGoFlag(kUseCdi, "has no effect: containers get the same nodes from kubelet"));
  }
  return line;
}

}  // namespace tessera::config::rdma_shared
