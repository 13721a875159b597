// SPDX-License-Identifier: Apache-2.0
#include "cli/command/output.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "config/load.h"
#include "kinds/kinds.h"
#include "mps/run.h"
#include "mps/shm.h"

namespace tessera::cli {
namespace {

int Keep(const Arguments& arguments) {
  const std::optional<std::string> file = ConfigFileIn(arguments);
  mps::RunMps({.file = file.value_or(config::kDefaultFile),
               .may_be_absent = !file,
               .load =
                   [environment = config::OwnEnvironment(),
                    flags = ConfigFlagsIn(arguments)](const auto& path) {
                     return config::LoadFile(FullSchema(), path, environment, flags);
                   }},
              arguments.Has("leave-running"));
}

int MountShm(const Arguments& arguments) {
  const Status mounted = mps::MountShm(arguments.Get("at"));
  return mounted ? kOk : PrintFailure(mounted.error());
}

Command MountShmCommand() {
  return {.name = "mount-shm",
          .summary = "mount the shared memory of MPS",
          .description =
              "Mounts a tmpfs of half of the node's memory, which the MPS daemons and their "
              "clients share as /dev/shm. A tmpfs that is already mounted there stays.",
          .options = {{.name = "--at",
                       .value = "DIRECTORY",
                       .help = "the mount point",
                       .fallback = "/run/nvidia/mps/shm"}},
          .examples = {{"tessera mps mount-shm", "Before 'tessera mps', on a node or in its pod."}},
          .run = MountShm};
}

}  // namespace

Command MpsCommand() {
  std::vector<Option> options = ConfigFlags();
  options.push_back({.name = "--leave-running",
                     .help = "leave the daemons to the next 'tessera mps' at the end"});
  return {.name = "mps",
          .summary = "keep NVIDIA's MPS daemons running",
          .description =
              "Starts an MPS control daemon for every resource with 'policy: mps' in the agent's "
              "configuration. It sets the limits of clients on each GPU, and restarts a daemon "
              "that ends or hangs, until SIGTERM, SIGINT or SIGQUIT. It takes over a running "
              "daemon with the same limits. It is a program of its own, so that the agent can be "
              "replaced under running clients.",
          .options = std::move(options),
          .examples = {{"tessera mps --config /etc/tessera/tessera.yaml", "Serve this node."}},
          .commands = {MountShmCommand(), NvidiaMpsCommand()},
          .run = Keep};
}

}  // namespace tessera::cli
