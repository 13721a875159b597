// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cli/main.h"

#include <csignal>
#include <string>
#include <vector>

#include "cli/command/output.h"
#include "cli/command/parse.h"
#include "cli/command/version_command.h"
#include "kube/access.h"
#include "os/descriptors.h"
#include "os/files.h"
#include "os/loop.h"
#include "os/process.h"
#include "scheduler/service.h"

namespace tessera::cli {
namespace {

Result<kube::Access> AccessBy(const std::string& kubeconfig) {
  if (!kubeconfig.empty()) return kube::FromKubeconfig(kubeconfig);
  auto access = TRY(kube::InCluster(os::Root(), os::Variable));
  if (access) return *std::move(access);
  return Fail(Reason::kInvalid,
              "this is no pod with a service account: name a kubeconfig by --kubeconfig");
}

int Serve(const Arguments& arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  os::RaiseDescriptorLimit();
  auto access = AccessBy(arguments.Get("kubeconfig"));
  if (!access) return PrintFailure(access.error());
  os::Loop loop;
  const auto service =
      scheduler::Service::Start(loop, SystemClock(),
                                {.access = *std::move(access),
                                 .extender_address = arguments.Get("extender-bind"),
                                 .status_address = arguments.Get("metrics-bind")});
  if (!service) return PrintFailure(service.error());
  const auto term = loop.OnSignal(SIGTERM, [&] { loop.Stop(); });
  const auto interrupt = loop.OnSignal(SIGINT, [&] { loop.Stop(); });
  loop.Run();
  return kOk;
}

}  // namespace

Command SchedulerProgram() {
  return {.name = "tessera-scheduler",
          .summary = "places shares of devices for kube-scheduler",
          .description =
              "An extender beside the stock kube-scheduler: of the nodes that can have a pod "
              "it chooses one and its devices, holds the room, and binds the pod with what "
              "each of its containers gets. All that it knows it reads from the API server.",
          .options = {{.name = "--kubeconfig",
                       .value = "FILE",
                       .help = "how the API server is reached; in a pod, its service account"},
                      {.name = "--extender-bind",
                       .value = "ADDRESS",
                       .help = "where kube-scheduler asks: of this pod alone",
                       .fallback = "127.0.0.1:9444"},
                      {.name = "--metrics-bind",
                       .value = "ADDRESS",
                       .help = "where /healthz and /readyz are",
                       .fallback = ":9395"}},
          .examples = {{"tessera-scheduler --kubeconfig ~/.kube/config",
                        "Serve a kube-scheduler on this machine."}},
          .commands = {VersionCommand("tessera-scheduler")},
          .run = Serve};
}

int SchedulerMain(int argc, char** argv) {
  SetProgramName("tessera-scheduler");
  std::vector<std::string> words(argv + 1, argv + argc);
  TranslateHabits(words);
  return Run(SchedulerProgram(), words);
}

}  // namespace tessera::cli
