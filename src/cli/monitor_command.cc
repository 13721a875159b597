// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/kind.h"
#include "backend/sampler.h"
#include "base/log.h"
#include "cli/command/output.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/control.h"
#include "cli/limiter_directories.h"
#include "config/load.h"
#include "config/schema/problem.h"
#include "kinds/kinds.h"
#include "monitor/service.h"
#include "os/descriptors.h"
#include "os/process.h"
#include "report/api_server.h"

namespace tessera::cli {
namespace {

std::vector<std::shared_ptr<Sampler>> SamplersFor(const config::Config& config) {
  std::vector<std::shared_ptr<Sampler>> samplers;
  for (const Kind& kind : AllKinds()) {
    if (kind.sampler == nullptr) continue;
    if (auto sampler = kind.sampler->Make(config)) samplers.push_back(std::move(sampler));
  }
  return samplers;
}

monitor::FeedbackMode FeedbackBy(const std::string& mode) {
  if (mode == "auto") return monitor::FeedbackMode::kAuto;
  return mode == "on" ? monitor::FeedbackMode::kOn : monitor::FeedbackMode::kOff;
}

int ServeMetrics(const Arguments& arguments) {
  const config::LoadResult loaded = config::LoadFile(
      FullSchema(), ConfigFileIn(arguments), config::OwnEnvironment(), ConfigFlagsIn(arguments));
  if (!loaded.ok()) {
    PrintToError(config::Text(loaded.errors));
    return kFailed;
  }
  std::signal(SIGPIPE, SIG_IGN);
  os::RaiseDescriptorLimit();
  os::Loop loop;
  const auto service =
      monitor::Service::Start(loop, SystemClock(),
                              {.address = arguments.Get("listen"),
                               .control_socket = arguments.Get("control"),
                               .node = NodeNameOf(loaded.config.api, os::Variable, os::HostName()),
                               .root = os::Root(loaded.config.root_prefix),
                               .directories = LimiterDirectories(loaded.config),
                               .legacy = arguments.Has("legacy-metrics"),
                               .dcgm = arguments.Has("dcgm-names"),
                               .feedback = FeedbackBy(arguments.Get("feedback")),
                               .samplers = SamplersFor(loaded.config)});
  if (!service) return PrintFailure(service.error());
  log::Info("serving metrics", {{"address", arguments.Get("listen")}});
  const auto term = loop.OnSignal(SIGTERM, [&] { loop.Stop(); });
  const auto interrupt = loop.OnSignal(SIGINT, [&] { loop.Stop(); });
  loop.Run();
  (*service)->EndFeedback();
  // A call that hangs may still answer to the loop, so neither is destroyed.
  std::_Exit(kOk);
}

std::vector<Option> MonitorOptions() {
  std::vector<Option> options = {
      {.name = "--listen",
       .value = "ADDRESS",
       .help = "the address of the metrics",
       .fallback = ":9394"},
      {.name = "--feedback",
       .value = "MODE",
       .help = "whether containers wait for others of higher priority; auto: unless another "
               "monitor, such as HAMi's, sees to it",
       .fallback = "auto",
       .choices = {"auto", "on", "off"}},
      {.name = "--legacy-metrics", .help = "also serve HAMi's names from before 2.10"},
      {.name = "--dcgm-names", .help = "also serve DCGM's names, at /dcgm/metrics"}};
  for (Option& option : ConfigFlags()) {
    const bool of_use = option.name == "--config" || option.name == "--root-prefix";
    if (of_use) options.push_back(std::move(option));
  }
  options.push_back(ControlOption());
  return options;
}

}  // namespace

Command MonitorCommand() {
  return {.name = "monitor",
          .summary = "serve metrics of each container's use of its devices",
          .description =
              "Serves metrics of what each container of this node was granted, and what it uses: "
              "memory, compute time, waits and refusals. It adds metrics of each device. It asks "
              "the agent for the grants, and reads the files of each container's limiting library, "
              "Tessera's or HAMi-core's. It runs in a process of its own beside the agent, so that "
              "a scrape never delays the agent. The metrics have HAMi's names and Tessera's; "
              "docs/reference/monitor-metrics.md lists them.",
          .options = MonitorOptions(),
          .examples = {{"tessera monitor", "Serve metrics on port 9394."},
                       {"tessera monitor --listen 127.0.0.1:9394 --dcgm-names",
                        "Serve this machine alone, with DCGM's names too."}},
          .run = ServeMetrics};
}

}  // namespace tessera::cli
