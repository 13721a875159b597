// SPDX-License-Identifier: Apache-2.0
#include "agent/ledger_sync.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "kubelet/checkpoint.h"
#include "os/files.h"

namespace tessera::agent {
namespace {

constexpr Duration kTimeout{5'000};
constexpr Duration kLongestPause{60'000};
constexpr Duration kEagerPause{1'000};

std::optional<os::FileInfo> SocketAt(const std::string& path) {
  auto info = os::Inspect(path);
  return info ? std::optional(*std::move(info)) : std::nullopt;
}

}  // namespace

Duration NextPause(Duration last, Duration interval, Interest interest) {
  switch (interest) {
    case Interest::kNone:
      return std::min(2 * last, std::max(interval, kLongestPause));
    case Interest::kUsual:
      return interval;
    case Interest::kEager:
      return std::min(interval, kEagerPause);
  }
  return interval;
}

LedgerSync::LedgerSync(os::Loop& loop, os::Workers& workers, Node& node, http::Metrics& metrics,
                       const kubelet::Directories& directories, Duration interval,
                       Listener listener)
    : workers_(workers),
      node_(node),
      metrics_(metrics),
      directories_(directories),
      interval_(interval),
      listener_(std::move(listener)),
      pause_(interval),
      next_(loop, [this] { Ask(); }),
      mailbox_(loop, *this) {
  // The first list may go out before kubelet answers, so the checkpoint's holders count until then.
  // kubelet writes the checkpoint at each list of a plugin: without one, it has granted no device.
  const Status read = ReadCheckpoint();
  if (read || read.error().reason == Reason::kNotFound) node_.ledger().Presume(checkpoint_);
}

void LedgerSync::AskSoon(Duration delay) {
  next_.RingWithin(delay);
}

void LedgerSync::AskIfOld() {
  if (SystemClock().Now() - answered_ >= interval_) AskSoon(Duration(0));
}

void LedgerSync::Ask() {
  if (call_ != nullptr) {
    again_ = true;  // the answer under way may be older than this request
    return;
  }
  if (HasPodResources()) {
    asked_ = SocketAt(directories_.pod_resources_socket());
    call_ = kubelet::PodResourcesCall::Ask(workers_, directories_.pod_resources_socket(), kTimeout,
                                           mailbox_.Bind(&LedgerSync::Answered));
    return;
  }
  Answered(Fail(
      Reason::kPodResourcesUnavailable,
      "{} does not exist, so the agent reads kubelet's checkpoint, which lacks pod names and still "
      "lists ended pods. If kubelet loses the agent's registration, the agent does not notice",
      directories_.pod_resources()));
}

// An answer may be of the former kubelet or of the new one if the socket has changed meanwhile.
void LedgerSync::NoteRestart() {
  const auto socket = SocketAt(directories_.pod_resources_socket());
  const bool is_sure = socket && socket == asked_;
  if (!is_sure || socket != answered_by_) node_.ledger().KubeletRestarted();
  answered_by_ = is_sure ? socket : std::nullopt;
}

bool LedgerSync::HasPodResources() const {
  return os::Exists(directories_.pod_resources());
}

void LedgerSync::Answered(const Result<kubelet::PodResourcesView>& view) {
  call_.reset();
  answered_ = SystemClock().Now();
  metrics_.Add(http::Metric::kReconciliations, {view ? "good" : "failed"});
  bool news = false;
  if (view) {
    if (error_) log::Info("the ledger is compared with kubelet again");
    error_.reset();
    told_ = true;
    (void)ReadCheckpoint();
    NoteRestart();
    news = Reconcile(view->holdings);
    listener_.compared(view->allocatable);
  } else {
    if (!error_) log::Warn("cannot compare the ledger with kubelet", view.error());
    error_ = view.error();
    // The checkpoint may name pods that ended, but misses none, so it is safe to use alone. Once
    // the API has answered, its last answer stands.
    if (!told_ && !HasPodResources() && ReadCheckpoint()) {
      news = Reconcile({});
      listener_.compared(std::nullopt);
    }
  }
  const bool usual = news || !AllReconciled() || listener_.waiting();
  pause_ = NextPause(pause_, interval_,
                     listener_.eager() ? Interest::kEager
                     : usual           ? Interest::kUsual
                                       : Interest::kNone);
  const bool rest = pause_ == kLongestPause;
  AskSoon(std::exchange(again_, false) ? Duration(0) : rest ? os::UntilBeat(pause_) : pause_);
}

bool LedgerSync::AllReconciled() const {
  return std::all_of(resources_.begin(), resources_.end(),
                     [this](const auto& resource) { return node_.ledger().reconciled(resource); });
}

// Joins `told`, the API's answer, with the checkpoint. True if holdings changed.
bool LedgerSync::Reconcile(std::vector<Holding> told) {
  const bool first = !AllReconciled();
  LedgerChange change =
      node_.ledger().Reconcile(Join(OwnHoldings(std::move(told)), OwnHoldings(checkpoint_)),
                               resources_, SystemClock().Now());
  for (const Holding& holding : change.unexpected) {
    metrics_.Add(http::Metric::kDrift, {holding.resource});
    log::Info("ledger drift: kubelet lists a grant of another instance, or from before this start",
              {{"reason", ReasonName(Reason::kLedgerDrift)},
               {"resource", holding.resource},
               {"pod", holding.pod_namespace + "/" + holding.pod},
               {"container", holding.container},
               {"ids", tessera::Join(holding.share_ids, ",")}});
  }
  const bool changed =
      first || !change.appeared.empty() || !change.ended.empty() || !change.forgotten.empty();
  if (changed) listener_.changed();
  return changed;
}

std::vector<Holding> LedgerSync::OwnHoldings(std::vector<Holding> holdings) const {
  std::erase_if(holdings,
                [this](const Holding& holding) { return !resources_.contains(holding.resource); });
  return holdings;
}

// Only the checkpoint names plain init containers, and their shares must not look free. So an
// unreadable or torn checkpoint changes nothing.
Status LedgerSync::ReadCheckpoint() {
  const auto text = os::ReadFile(directories_.device_plugins() + "/" + kubelet::kCheckpointFile);
  if (!text && text.error().reason == Reason::kNotFound) checkpoint_.clear();
  TRY(text);
  const kubelet::Checkpoint checkpoint = TRY(kubelet::ParseCheckpoint(*text));
  checkpoint_.clear();
  for (const kubelet::CheckpointEntry& entry : checkpoint.entries) {
    checkpoint_.push_back({.pod_namespace = "",
                           .pod = "",
                           .pod_uid = entry.pod_uid,
                           .container = entry.container,
                           .resource = entry.resource,
                           .share_ids = entry.ids()});
  }
  return {};
}

}  // namespace tessera::agent
