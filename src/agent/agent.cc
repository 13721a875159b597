// SPDX-License-Identifier: Apache-2.0
#include "agent/agent.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent_core.h"
#include "agent/requirements.h"
#include "base/log.h"
#include "base/text.h"
#include "cdi/container_runtime.h"
#include "config/load.h"
#include "config/schema/problem.h"
#include "kubelet/start_grpc.h"
#include "os/descriptors.h"
#include "os/files.h"
#include "os/loop.h"
#include "os/memory.h"
#include "os/thread.h"

namespace tessera::agent {
namespace {

constexpr Duration kStarted{10'000};  // after this, memory that only the start used is given back

void TellFormat(const config::LoadResult& loaded) {
  if (loaded.taken_for.empty()) return;
  log::Info("the configuration file is in another program's format",
            {{"taken_for", loaded.taken_for}});
}

// A faulty configuration changes nothing: the former one stays in effect.
void Reloaded(Agent& agent, const config::LoadResult& loaded) {
  agent.metrics().Add(http::Metric::kReloads, {loaded.ok() ? "good" : "failed"});
  for (const config::Problem& warning : loaded.warnings) log::Warn(warning.Text());
  if (!loaded.ok()) {
    for (const config::Problem& problem : loaded.errors) {
      log::LogError("configuration error", {{"reason", ReasonName(problem.reason)},
                                            {"file", problem.origin},
                                            {"line", problem.line},
                                            {"column", problem.column},
                                            {"error", problem.message},
                                            {"closest", problem.suggestion},
                                            {"advice", ReasonAdvice(problem.reason)}});
    }
    log::LogError("the new configuration is not used, the former one stays");
    return;
  }
  log::Configure(loaded.config.log_level, loaded.config.log_format);
  TellFormat(loaded);
  agent.Apply(loaded.config);
  log::Info("configuration reloaded");
}

// A resource without a configured strategy uses CDI if the node's status shows a runtime that reads
// CDI. The answer is recorded, and every reader of the configuration uses the record.
void LearnRuntime(Agent& agent, config::WatchedFile& file) {
  agent.AskForNode([&agent, &file](const json::Value& node) {
    const std::string& state_dir = agent.config().state_dir;
    const RuntimeVersions versions = VersionsOf(node);
    if (versions == RememberedVersions(state_dir)) return;
    if (Status kept = RememberVersions(state_dir, versions); !kept) {
      return log::Warn("cannot save the container runtime's version, so CDI is not used",
                       kept.error());
    }
    log::Info("found the node's container runtime",
              {{"runtime", versions.runtime}, {"kubelet", versions.kubelet}});
    file.Reload();
  });
}

config::FileOptions Suited(config::FileOptions options) {
  options.load = [load = std::move(options.load)](const std::optional<std::string>& file) {
    return SuitedToRuntime(load(file));
  };
  return options;
}

// The chart lists a release's values without effect beside a configuration of ours, or in our
// directory.
void LogIgnoredValues(const std::string& file) {
  constexpr size_t kMost = 16;
  const std::string ours = "/etc/tessera/";
  const std::string beside = file.empty() ? ours : file.substr(0, file.rfind('/') + 1);
  auto text = os::ReadFile(beside + "ignored-values");
  if (!text) text = os::ReadFile(ours + "ignored-values");
  if (!text) return;
  std::vector<std::string> values = Split(Trim(*text), '\n');
  const size_t count = values.size();
  if (count > kMost) values.resize(kMost);
  log::Warn("values of the chart have no effect",
            {{"count", count}, {"values", Join(values, "; ")}});
}

// MeetRequirements opened libraries. They stay open until the resources have opened them too.
Status Start(Agent& agent, os::Loop& loop) {
  const Requirements met = TRY(MeetRequirements(agent.config(), loop));
  return agent.Start();
}

}  // namespace

void RunAgent(const config::FileOptions& options) {
  os::KeepHeapSmall();
  const size_t descriptors = os::RaiseDescriptorLimit();
  umask(0077);
  signal(SIGPIPE, SIG_IGN);  // NOLINT(concurrency-mt-unsafe): before any thread
  // gRPC is slow to start, so its thread runs while the configuration is read. From here on the
  // process ends by _Exit: no static destructor may run while threads still use its object.
  (void)os::StartThread(kubelet::StartGrpc);
  os::Loop loop;
  http::Metrics metrics;
  std::unique_ptr<Agent> agent;
  config::WatchedFile file(loop, Suited(options),
                           [&agent, &file](const config::LoadResult& loaded) {
                             Reloaded(*agent, loaded);
                             if (!loaded.undecided.empty()) LearnRuntime(*agent, file);
                           });
  // The watch begins before the first read, so no change is lost. From here on a SIGHUP does not
  // kill the process.
  file.Watch();
  config::LoadResult loaded = file.Read();
  if (!loaded.ok()) {
    fmt::print(stderr, "{}", config::Text(loaded.errors));
    std::_Exit(1);
  }
  log::Configure(loaded.config.log_level, loaded.config.log_format);
  log::Debug("descriptors", {{"limit", os::DescriptorLimit()}, {"before", descriptors}});
  TellFormat(loaded);
  for (const config::Problem& warning : loaded.warnings) log::Warn(warning.Text());
  LogIgnoredValues(options.file);

  std::vector<os::Loop::Handle> signals;
  for (int number : {SIGTERM, SIGINT, SIGQUIT}) {
    signals.push_back(loop.OnSignal(number, [&loop, number] {
      log::Info("stopping", {{"signal", number}});
      loop.Stop();
    }));
  }
  agent = std::make_unique<Agent>(loop, metrics, *loaded.schema, loaded.config);
  if (Status started = Start(*agent, loop); !started) {
    log::LogError("cannot start", started.error());
    std::_Exit(1);
  }
  if (!loaded.undecided.empty()) LearnRuntime(*agent, file);
  const auto rest = loop.After(kStarted, os::ForgetUnwrittenPages);
  loop.Run();
  std::optional<Error> fatal = agent->fatal();
  agent.reset();
  if (fatal) log::LogError("the agent cannot continue", *fatal);
  log::Info("stopped");
  std::_Exit(fatal ? 1 : 0);
}

}  // namespace tessera::agent
