// SPDX-License-Identifier: Apache-2.0
#include "agent/ledger_sync.h"

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "kubelet/checkpoint.h"
#include "os/files.h"

namespace tessera::agent {
namespace {

constexpr Duration kTimeout{5'000};

}  // namespace

struct LedgerSync::Life {
  os::Loop* loop;
  LedgerSync* sync;
};

LedgerSync::LedgerSync(os::Loop& loop, Node& node, http::Metrics& metrics,
                       const kubelet::Directories& directories, Duration interval,
                       Listener listener)
    : loop_(loop),
      node_(node),
      metrics_(metrics),
      directories_(directories),
      interval_(interval),
      listener_(std::move(listener)),
      life_(std::make_shared<Life>(Life{&loop, this})) {}

LedgerSync::~LedgerSync() {
  life_->sync = nullptr;
}

void LedgerSync::AskSoon(Duration delay) {
  if (call_ != nullptr) return;
  Steady at = SystemClock().Now() + delay;
  if (timer_ && next_ <= at) return;
  next_ = at;
  timer_ = loop_.After(delay, [this] { Ask(); });
}

void LedgerSync::Ask() {
  timer_ = os::Loop::Handle();
  call_ =
      kubelet::PodResourcesCall::Ask(directories_.pod_resources_socket(), kTimeout,
                                     [life = life_](Result<kubelet::PodResourcesView> view) {
                                       life->loop->Post([life, view = std::move(view)]() mutable {
                                         if (life->sync != nullptr)
                                           life->sync->Answered(std::move(view));
                                       });
                                     });
}

void LedgerSync::Answered(Result<kubelet::PodResourcesView> view) {
  call_.reset();
  AskSoon(interval_);
  metrics_.Add(http::Metric::kReconciliations, {view ? "good" : "failed"});
  if (!view) {
    if (!error_) log::Warn("cannot compare the ledger", view.error());
    error_ = view.error();
    return;
  }
  if (error_) log::Info("the ledger is compared again");
  error_.reset();
  bool first = !node_.ledger().reconciled();
  LedgerChange change = node_.ledger().Reconcile(
      Join(Ours(std::move(view->holdings)), Ours(ReadCheckpoint())), SystemClock().Now());
  for (const Holding& holding : change.unexpected) {
    metrics_.Add(http::Metric::kDrift, {holding.resource});
    log::Warn("ledger drift",
              Error{Reason::kLedgerDrift, "kubelet knows a holding that was not granted here"},
              {{"resource", holding.resource},
               {"pod", holding.pod_namespace + "/" + holding.pod},
               {"container", holding.container},
               {"ids", tessera::Join(holding.share_ids, ",")}});
  }
  if (first || !change.appeared.empty() || !change.ended.empty()) listener_.changed();
  listener_.compared(view->allocatable);
}

std::vector<Holding> LedgerSync::Ours(std::vector<Holding> holdings) const {
  std::erase_if(holdings,
                [this](const Holding& holding) { return !resources_.contains(holding.resource); });
  return holdings;
}

std::vector<Holding> LedgerSync::ReadCheckpoint() const {
  auto text = os::ReadFile(directories_.device_plugins() + "/" + kubelet::kCheckpointFile);
  if (!text) return {};
  auto checkpoint = kubelet::ParseCheckpoint(*text);
  if (!checkpoint) return {};  // pod-resources alone is the rule; this only completes it
  std::vector<Holding> holdings;
  for (const kubelet::CheckpointEntry& entry : checkpoint->entries) {
    holdings.push_back({.pod_namespace = "",
                        .pod = "",
                        .pod_uid = entry.pod_uid,
                        .container = entry.container,
                        .resource = entry.resource,
                        .share_ids = entry.ids()});
  }
  return holdings;
}

}  // namespace tessera::agent
