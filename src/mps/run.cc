// SPDX-License-Identifier: Apache-2.0
#include "mps/run.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <vector>

#include "base/log.h"
#include "config/schema/problem.h"
#include "mps/supervisors.h"
#include "os/loop.h"

namespace tessera::mps {
namespace {

void Reloaded(Supervisors& supervisors, const config::LoadResult& loaded) {
  if (!loaded.ok()) {
    for (const config::Problem& problem : loaded.errors) log::LogError(problem.Text());
    log::LogError("the new configuration is not used, the former one stays");
    return;
  }
  log::Configure(loaded.config.log_level, loaded.config.log_format);
  supervisors.Apply(loaded.config);
}

}  // namespace

void RunMps(const config::FileOptions& options, bool leave_running) {
  umask(0022);               // clients run as any user
  signal(SIGPIPE, SIG_IGN);  // NOLINT(concurrency-mt-unsafe): before any thread
  os::Loop loop;
  Supervisors supervisors(loop);
  config::WatchedFile file(loop, options, [&supervisors](const config::LoadResult& loaded) {
    Reloaded(supervisors, loaded);
  });
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
  Reloaded(supervisors, loaded);
  loop.Run();
  supervisors.Stop(leave_running ? SupervisorThread::Daemon::kStays
                                 : SupervisorThread::Daemon::kEnds);
  log::Info("stopped");
  std::_Exit(0);  // no destructors: remaining threads still use the objects
}

}  // namespace tessera::mps
