// SPDX-License-Identifier: Apache-2.0
#include "mps/supervisors.h"

#include <algorithm>
#include <utility>

#include "backend/nvidia/core/nvidia_config.h"
#include "base/log.h"
#include "os/files.h"

namespace tessera::mps {
namespace {

constexpr Duration kStopLimit{25'000};  // less than the pod's time to end

SupervisorThread::Order OrderFor(const config::Config& config, const config::Resource& resource) {
  const NvidiaConfig& kind = *resource.kind.As<NvidiaConfig>();
  return {.resource = resource.name,
          .replicas = resource.policy.replicas,
          .gpus = {.driver_root = kind.driver_root,
                   .select = kind.select,
                   .exclude = kind.exclude,
                   .mig = kind.mig,
                   .in_mig_mode = kind.in_mig_mode,
                   .earlier = kind.earlier,
                   .family = kind.family,
                   .mps = kind.mps},
          .root_prefix = config.root_prefix,
          .times = {.interval = config.health.check_interval,
                    .timeout = config.health.check_timeout,
                    .failures = config.health.policy.failures}};
}

// The mark that NVIDIA's program leaves next to its resources' directories.
std::string ReadyFile(const SupervisorThread::Order& order) {
  const std::string directory = order.Directory();
  return directory.substr(0, directory.size() - order.resource.size()) + ".ready";
}

}  // namespace

Supervisors::Orders Supervisors::OrdersOf(const config::Config& config) {
  Orders orders;
  for (const config::Resource& resource : config.resources) {
    const auto* kind = resource.kind.As<NvidiaConfig>();
    if (kind == nullptr || !kind->mps.on) continue;
    orders.emplace(resource.name, OrderFor(config, resource));
  }
  return orders;
}

void Supervisors::Apply(const config::Config& config) {
  Orders wanted = OrdersOf(config);
  if (wanted.empty()) log::Info("no resource is shared by MPS; waiting for one that is");
  later_ = std::move(wanted);
  Changed();
}

void Supervisors::Begin(Orders wanted) {
  for (auto& [name, thread] : threads_) {
    const auto order = wanted.find(name);
    if (order == wanted.end()) {
      thread->Stop(SupervisorThread::Daemon::kEnds);
    } else if (order->second == thread->order()) {
      wanted.erase(order);
      continue;
    } else {
      thread->StopFor(order->second);
    }
    leaving_.push_back(std::move(thread));
  }
  std::erase_if(threads_, [](const auto& entry) { return entry.second == nullptr; });
  wanted_ = std::move(wanted);
}

void Supervisors::Changed() {
  // Called on the loop at each change of a supervisor. New daemons start only after all leaving
  // ones have stopped, as two daemons must not have the same GPU.
  for (;;) {
    std::erase_if(leaving_, [](const auto& thread) { return thread->stopped(); });
    if (!leaving_.empty()) return;
    StartWanted();
    if (!later_) return MarkReady();
    Begin(*std::exchange(later_, std::nullopt));
  }
}

void Supervisors::StartWanted() {
  for (auto& [name, order] : std::exchange(wanted_, {})) {
    threads_[name] =
        std::make_unique<SupervisorThread>(order, [this] { loop_.Post([this] { Changed(); }); });
  }
}

void Supervisors::MarkReady() {
  std::set<std::string> files;
  bool all = true;
  for (const auto& [name, thread] : threads_) {
    files.insert(ReadyFile(thread->order()));
    all &= thread->ready();
  }
  std::erase_if(ready_files_, [&](const std::string& file) {
    if (files.contains(file)) return false;
    (void)os::RemoveFile(file);
    return true;
  });
  if (!all) return;
  for (const std::string& file : files) {
    if (!ready_files_.insert(file).second) continue;
    if (const Status made = os::ReplaceFile(file, "", 0644); !made) {
      log::Warn("MPS is ready, but the file that says so cannot be written", made.error(),
                {{"path", file}});
    }
  }
}

void Supervisors::Stop(SupervisorThread::Daemon daemon) {
  StartWanted();  // daemons that a former supervisor left end with them
  for (auto& [name, thread] : threads_) leaving_.push_back(std::move(thread));
  threads_.clear();
  for (const auto& thread : leaving_) thread->Stop(daemon);
  const Steady until = SystemClock().Now() + kStopLimit;
  for (const auto& thread : leaving_) {
    const Steady now = SystemClock().Now();
    if (thread->AwaitStopped(std::chrono::ceil<Duration>(std::max(until, now) - now))) continue;
    log::Warn("MPS is left running: it takes too long to stop",
              {{"resource", thread->order().resource}});
  }
  for (const std::string& file : ready_files_) (void)os::RemoveFile(file);
}

}  // namespace tessera::mps
