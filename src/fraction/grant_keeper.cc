// SPDX-License-Identifier: Apache-2.0
#include "fraction/grant_keeper.h"

#include <fmt/core.h>

#include <utility>

#include "base/log.h"
#include "cdi/container_runtime.h"
#include "fraction/asked_resources.h"
#include "kubelet/checkpoint.h"
#include "placement/placement.h"
#include "version.h"

namespace tessera {
namespace {

constexpr Duration kSpaceLook{60'000};
constexpr Duration kTellAgain{600'000};

}  // namespace

GrantKeeper::GrantKeeper(Surroundings at)
    : at_(std::move(at)), space_(at_.loop, [this] { LookAtSpace(); }), mailbox_(at_.loop, *this) {}

void GrantKeeper::Open(const config::Config& config, const kubelet::Directories& directories) {
  config_ = config;
  binder_ = std::make_shared<GrantBinder>(
      directories.device_plugins(), config.state_dir, os::Root(config.root_prefix), at_.context,
      at_.inbox, SystemClock(), [state_dir = config.state_dir] {
        const std::string kubelet = RememberedVersions(state_dir).kubelet;
        return fmt::format("kubelet is {}, the agent {}", kubelet.empty() ? "unknown" : kubelet,
                           TESSERA_VERSION);
      });
  binder_->TellLedger();
  const std::string checkpoint = directories.device_plugins() + "/" + kubelet::kCheckpointFile;
  old_libraries_ =
      std::make_shared<OldLibraries>(checkpoint, config.state_dir, os::Root(config.root_prefix));
  tally_ = std::make_shared<GrantTally>(checkpoint, config.state_dir, at_.context);
  at_.context->events.SetFormer([weak = std::weak_ptr(binder_)] {
    const auto binder = weak.lock();
    return binder ? binder->FormerContainers() : std::vector<BoundContainer>();
  });
  if (MatchesAny()) binder_->TellClaims();
  LookAtSpace();
}

void GrantKeeper::Apply(const config::Config& config) {
  config_ = config;
  if (MatchesAny()) binder_->TellClaims();
}

// Without matched grants there are no claims, and a start does not wait for kubelet's checkpoint.
bool GrantKeeper::MatchesAny() const {
  return !ResourcesToMatch(config_.resources).empty();
}

void GrantKeeper::KubeletCame() {
  if (!MatchesAny()) return;
  at_.workers.Run([binder = binder_] { binder->TellClaims(); });
}

void GrantKeeper::RemoveForgotten() {
  RemoveOldLibraries();
  if (!binder_->AnyBound()) return;
  if (SystemClock().Now() - looked_at_space_ >= kSpaceLook) LookAtSpace();
  std::set<std::string> cdi_dirs;
  for (const config::Resource& resource : config_.resources) {
    cdi_dirs.insert(os::Root(config_.root_prefix).Path(resource.cdi_dir));
  }
  at_.workers.Run([binder = binder_, tally = tally_, cdi_dirs = std::move(cdi_dirs),
                   containers = ContainersDirectories(config_)] {
    tally->Count();
    binder->RemoveForgotten(cdi_dirs, containers);
  });
}

void GrantKeeper::LookAtSpace() {
  looked_at_space_ = SystemClock().Now();
  space_.RingWithin(os::UntilBeat(kSpaceLook));
  if (!binder_->AnyBound()) return;
  at_.workers.Run([binder = binder_, containers = ContainersDirectories(config_),
                   tell = mailbox_.Bind(&GrantKeeper::SpaceSeen)] {
    const auto seen = binder->LookAtSpace(containers);
    if (seen) tell(*seen, binder->stuck());
  });
}

// A container that refills its directory at once is not reported every minute.
void GrantKeeper::SpaceSeen(const GrantSpace::SpaceReport& seen, size_t stuck) {
  using http::Metric;
  at_.metrics.Set(Metric::kVgpuDirectoryBytes, {}, static_cast<double>(seen.bytes));
  at_.metrics.Set(Metric::kVgpuLeftovers, {}, static_cast<double>(stuck));
  const Steady now = SystemClock().Now();
  std::erase_if(told_of_space_, [&](const auto& told) { return now - told.second >= kTellAgain; });
  for (const GrantSpace::Cut& cut : seen.cuts) {
    at_.metrics.Add(Metric::kVgpuDirectoriesCut, {cut.record->resource});
    if (!told_of_space_.emplace(cut.grant, now).second) continue;
    log::Warn("a container exceeded the limits of its directory",
              {{"resource", cut.record->resource},
               {"pod", cut.record->pod_uid},
               {"container", cut.record->container},
               {"directory", cut.directory},
               {"what", cut.what}});
    at_.cut(cut);
  }
}

void GrantKeeper::RemoveOldLibraries() {
  std::map<std::string, std::set<std::string>> newest;
  for (const config::Resource& resource : config_.resources) {
    const auto& fractions = resource.rendering.fractions;
    if (fractions && !fractions->install.empty())
      newest[fractions->directory].insert(fractions->library);
  }
  if (newest.empty()) return;
  at_.workers.Run([libraries = old_libraries_, newest] { libraries->Remove(newest); });
}

}  // namespace tessera
