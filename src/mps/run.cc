// SPDX-License-Identifier: Apache-2.0
#include "mps/run.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>

#include "agent/config_file.h"
#include "backend/nvidia/nvidia_config.h"
#include "base/log.h"
#include "config/schema/problem.h"
#include "mps/keeper.h"
#include "os/files.h"
#include "os/loop.h"

namespace tessera::mps {
namespace {

constexpr Duration kStopLimit{20'000};

Keeper::Order OrderFor(const config::Config& config, const config::Resource& resource) {
  return {.resource = resource,
          .root_prefix = config.root_prefix,
          .times = {.interval = config.health.check_interval,
                    .timeout = config.health.check_timeout,
                    .failures = config.health.policy.failures}};
}

// All that are kept. One thread: the loop's.
class Keepers {
 public:
  explicit Keepers(os::Loop& loop) : loop_(loop) {}

  void Apply(const config::Config& config) {
    std::map<std::string, Keeper::Order> wanted;
    for (const config::Resource& resource : config.resources) {
      const auto* kind = resource.kind.As<NvidiaConfig>();
      if (kind == nullptr || !kind->mps.on) continue;
      wanted.emplace(resource.name, OrderFor(config, resource));
    }
    if (wanted.empty()) log::Info("no resource is shared by MPS; waiting for one that is");
    for (auto& [name, keeper] : keepers_) {
      const auto order = wanted.find(name);
      if (order == wanted.end()) {
        keeper->Stop(Keeper::Daemon::kEnds);
      } else if (order->second != keeper->order()) {
        keeper->Stop(Keeper::Daemon::kStays);  // the next one knows whether it serves still
      } else {
        wanted.erase(order);
      }
    }
    for (auto& [name, order] : wanted) {
      if (const auto former = keepers_.find(name); former != keepers_.end()) {
        (void)former->second->AwaitStopped(kStopLimit);
      }
      keepers_[name] =
          std::make_unique<Keeper>(order, [this] { loop_.Post([this] { MarkReady(); }); });
    }
    std::erase_if(keepers_, [&](const auto& entry) {
      return std::ranges::none_of(config.resources, [&](const config::Resource& resource) {
        const auto* kind = resource.kind.As<NvidiaConfig>();
        return resource.name == entry.first && kind != nullptr && kind->mps.on;
      });
    });
  }

  void Stop(Keeper::Daemon daemon) {
    for (auto& [name, keeper] : keepers_) keeper->Stop(daemon);
    for (auto& [name, keeper] : keepers_) {
      if (!keeper->AwaitStopped(kStopLimit)) {
        log::Warn("MPS is left as it is: it takes too long to end", {{"resource", name}});
      }
    }
    for (const std::string& file : ready_files_) (void)os::RemoveFile(file);
  }

 private:
  // As NVIDIA's program does once all of its daemons run.
  void MarkReady() {
    const bool all =
        std::ranges::all_of(keepers_, [](const auto& entry) { return entry.second->ready(); });
    if (!all) return;
    for (const auto& [name, keeper] : keepers_) {
      const std::string directory = keeper->order().Directory();
      const std::string file = directory.substr(0, directory.size() - name.size()) + ".ready";
      if (!ready_files_.insert(file).second) continue;
      if (const Status made = os::ReplaceFile(file, "", 0644); !made) {
        log::Warn("MPS is ready, but cannot leave a mark", made.error(), {{"path", file}});
      }
    }
  }

  os::Loop& loop_;
  std::map<std::string, std::unique_ptr<Keeper>> keepers_;  // by resource
  std::set<std::string> ready_files_;
};

void Reloaded(Keepers& keepers, const config::LoadResult& loaded) {
  if (!loaded.ok()) {
    for (const config::Problem& problem : loaded.errors) log::LogError(problem.Text());
    log::LogError("the new configuration is not used, the former one stays");
    return;
  }
  log::Configure(loaded.config.log_level, loaded.config.log_format);
  keepers.Apply(loaded.config);
}

}  // namespace

void RunMps(const agent::AgentOptions& options, bool leave_running) {
  umask(0022);               // clients are anybody
  signal(SIGPIPE, SIG_IGN);  // NOLINT(concurrency-mt-unsafe): before any thread
  os::Loop loop;
  Keepers keepers(loop);
  agent::ConfigFile file(
      loop, options, [&keepers](const config::LoadResult& loaded) { Reloaded(keepers, loaded); });
  file.Watch();
  const config::LoadResult loaded = file.Read();
  if (!loaded.ok()) {
    fmt::print(stderr, "{}", config::Text(loaded.errors));
    std::_Exit(1);
  }
  std::vector<os::Loop::Handle> signals;
  for (const int number : {SIGTERM, SIGINT, SIGQUIT}) {
    signals.push_back(loop.OnSignal(number, [&loop, number] {
      log::Info("stopping", {{"signal", number}});
      loop.Stop();
    }));
  }
  Reloaded(keepers, loaded);
  loop.Run();
  keepers.Stop(leave_running ? Keeper::Daemon::kStays : Keeper::Daemon::kEnds);
  log::Info("stopped");
  std::_Exit(0);  // threads that stay must not meet the end of what they use
}

}  // namespace tessera::mps
