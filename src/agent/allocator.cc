// SPDX-License-Identifier: Apache-2.0
#include "agent/allocator.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/log.h"
#include "base/quote.h"
#include "base/text.h"
#include "fraction/chosen_shares.h"

namespace tessera::agent {
namespace {

// How long Allocate waits for the pod watch to report a pod that kubelet already asks for.
constexpr Duration kWatchComes{500};

// How long PreStart waits for the pod watch to report a pod that kubelet's checkpoint names.
constexpr Duration kPodComes{2'000};

constexpr int kMatchers = 4;  // kubelet admits one pod at a time

// Longer than kubelet waits before it tries a container again.
constexpr Duration kFaultLasts{360'000};

// The node causes these errors, not the pod, so the next pod fails alike.
bool IsOfTheNode(Reason reason) {
  constexpr Reason kOfTheNode[] = {Reason::kIo,     Reason::kPermission, Reason::kCdiUnsafe,
                                   Reason::kNoGate, Reason::kBadMount,   Reason::kNotEnforced};
  return std::ranges::find(kOfTheNode, reason) != std::end(kOfTheNode);
}

std::string CodeOf(const Error* error) {
  return error == nullptr ? "ok" : std::string(ReasonName(error->reason));
}

}  // namespace

Allocator::Allocator(std::string resource, std::shared_ptr<os::Workers> workers,
                     std::shared_ptr<GrantBinder> binder, std::shared_ptr<BindContext> context,
                     http::Metrics& metrics, Granted granted, std::shared_ptr<RecentGrant> recent)
    : resource_(std::move(resource)),
      workers_(std::move(workers)),
      matchers_(std::make_shared<os::Workers>(kMatchers)),
      binder_(std::move(binder)),
      context_(std::move(context)),
      metrics_(metrics),
      granted_(std::move(granted)),
      recent_(std::move(recent)),
      snapshot_(std::make_shared<Snapshot>()) {}

void Allocator::Set(Snapshot snapshot) {
  auto next = std::make_shared<const Snapshot>(std::move(snapshot));
  const MutexLock lock(mutex_);
  snapshot_ = std::move(next);
}

std::shared_ptr<const Allocator::Snapshot> Allocator::Get() const {
  const MutexLock lock(mutex_);
  return snapshot_;
}

void Allocator::Allocate(const std::vector<std::string>& ids,
                         std::function<void(Result<Grant>)> done) {
  Allocation allocation{.ids = ids,
                        .done = std::move(done),
                        .snapshot = Get(),
                        .began = std::chrono::steady_clock::now()};
  if (!NeedsMatch(allocation.snapshot->rendering)) return FinishAllocation(allocation, nullptr);
  const Result<FractionMatch> known = MatchContainer(allocation, Duration(0));
  if (known || known.error().reason != Reason::kNotMatched)
    return FinishAllocation(allocation, &known);
  matchers_->Run([self = shared_from_this(), allocation = std::move(allocation)] {
    const Result<FractionMatch> match = self->MatchContainer(allocation, kWatchComes);
    self->FinishAllocation(allocation, &match);
  });
}

Result<FractionMatch> Allocator::MatchContainer(const Allocation& allocation,
                                                Duration within) const {
  const Snapshot& snapshot = *allocation.snapshot;
  return context_->claims.ClaimFor(*snapshot.offer, *snapshot.rendering.fractions, allocation.ids,
                                   within);
}

// `match` is null if the grant needs no match.
void Allocator::FinishAllocation(const Allocation& allocation, const Result<FractionMatch>* match) {
  const bool matched = match != nullptr && *match;
  Result<Grant> grant = match != nullptr && !*match
                            ? Result<Grant>(Fail(match->error()))
                            : MakeGrant(allocation, matched ? &**match : nullptr);
  const Error* error = grant ? nullptr : &grant.error();
  if (grant) recent_->Put(allocation.snapshot->offer, allocation.ids, SystemClock().Now());
  if (error != nullptr) {
    refusals_.LogRefusal("allocation refused", *error, error->message, {{"resource", resource_}});
    context_->events.RecordRefusal({.resource = resource_, .error = *error});
  } else if (!matched) {
    log::Info("allocated", {{"resource", resource_}, {"ids", Join(allocation.ids, ",")}});
  } else {
    const std::string pod = context_->pods.NameOf((*match)->pod_uid);
    log::Info("allocated",
              {{"resource", resource_}, {"ids", Join(allocation.ids, ",")}, {"pod", pod}});
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - allocation.began;
  metrics_.Observe(http::Metric::kAllocateSeconds, {resource_}, took.count());
  metrics_.Add(http::Metric::kAllocations, {resource_, CodeOf(error)});
  allocation.done(std::move(grant));
}

Result<Grant> Allocator::MakeGrant(const Allocation& allocation, const FractionMatch* match) {
  // Allocate races with the reconciler's Withdraw. The lock makes a grant and its record one step,
  // with the newest snapshot. So after Set, every grant of a withdrawn share is in the ledger's
  // inbox.
  const MutexLock lock(mutex_);
  const Rendering& rendering = snapshot_->rendering;
  const bool late = rendering.fractions || snapshot_->preparations != nullptr;
  const std::string name = late ? NewGrantName() : "";
  auto made = tessera::Allocate(*snapshot_->offer, rendering, allocation.ids, name,
                                NeedsMatch(rendering) ? match : nullptr);
  if (!made) return made;
  TRY(granted_(*snapshot_->offer, allocation.ids));
  return made;
}

std::vector<std::string> Allocator::Prefer(const std::vector<std::string>& available,
                                           const std::vector<std::string>& must_include, int size) {
  metrics_.Add(http::Metric::kPreferences, {resource_});
  auto snapshot = Get();
  Preference preference{.available = available,
                        .must_include = must_include,
                        .size = size,
                        .placement = snapshot->placement};
  const auto& fractions = snapshot->rendering.fractions;
  if (fractions && fractions->requests) {
    // kubelet asks for all devices of a pod before the first one is bound. So pods whose grants are
    // bound do not wait any more.
    std::vector<PodPtr> waiting = context_->pods.PodsToAllocate();
    std::erase_if(waiting, [&](const PodPtr& pod) { return binder_->HasGrant(pod->KubeletUid()); });
    auto chosen = ChosenShares(waiting, *snapshot->offer, *fractions, preference);
    if (!chosen.empty()) return chosen;
  }
  std::vector<std::string> include = must_include;
  if (const auto beside = recent_->Beside(resource_, SystemClock().Now())) {
    std::ranges::move(Toward(*snapshot->offer, preference, *beside), std::back_inserter(include));
  }
  preference.must_include = include;
  return Choose(*snapshot->offer, preference);
}

void Allocator::PreStart(const std::vector<std::string>& ids, std::function<bool()> wanted,
                         std::function<void(Status)> done) {
  auto start = std::make_shared<Start>(ids, std::move(wanted), std::move(done));
  workers_->Run([self = shared_from_this(), start] { self->RunStart(start); });
}

void Allocator::RunStart(const std::shared_ptr<Start>& start) {
  log::Debug("pre-start", {{"resource", resource_}, {"ids", Join(start->ids, ",")}});
  start->snapshot = Get();
  if (start->snapshot->backend->ResetsBeforeStart()) {
    Status reset = Reset(*start->snapshot, start->ids, start->wanted);
    if (!reset) return Refuse(*start, reset.error());
  }
  if (start->snapshot->rendering.fractions) return Bind(start);
  if (start->snapshot->preparations != nullptr) return Prepare(start, {});
  FinishStart(*start, {});
}

Binding Allocator::BindingOf(const Snapshot& snapshot) {
  return {.offer = *snapshot.offer,
          .rendering = snapshot.rendering,
          .cdi_dir = snapshot.cdi_dir,
          .described = snapshot.described.get()};
}

void Allocator::Bound(const std::shared_ptr<Start>& start, Status bound) {
  const Snapshot& snapshot = *start->snapshot;
  if (!bound || snapshot.preparations == nullptr) return FinishStart(*start, std::move(bound));
  auto parts = binder_->PartsOf(BindingOf(snapshot), start->ids);
  if (!parts) return RefuseBound(start, parts.error());
  if (parts->empty()) return FinishStart(*start, {});
  Prepare(start, *std::move(parts));
}

void Allocator::Prepare(const std::shared_ptr<Start>& start, std::vector<Fraction> parts) {
  const Snapshot& snapshot = *start->snapshot;
  snapshot.preparations->Begin({.binding = BindingOf(snapshot),
                                .backend = snapshot.backend,
                                .share_ids = start->ids,
                                .parts = std::move(parts),
                                .undescribed = snapshot.undescribed,
                                .waited = SystemClock().Now() - start->called,
                                .wanted = start->wanted,
                                .done = [self = shared_from_this(), start](const Status& prepared) {
                                  if (prepared) return self->FinishStart(*start, {});
                                  self->RefuseBound(start, prepared.error());
                                }});
}

void Allocator::RefuseBound(const std::shared_ptr<Start>& start, const Error& error) {
  if (!start->snapshot->rendering.fractions) return Refuse(*start, error);
  workers_->Run([self = shared_from_this(), start, error] {
    self->binder_->Refuse(BindingOf(*start->snapshot), start->ids, start->known, error);
    self->FinishStart(*start, Fail(error));
  });
}

void Allocator::Bind(const std::shared_ptr<Start>& start) {
  GrantBinder::Pods& known = start->known;
  const Binding binding = BindingOf(*start->snapshot);
  auto unknown = binder_->PodToKnow(binding, start->ids, known);
  while (unknown && !unknown->empty()) {
    PodPtr pod = context_->pods.Find(*unknown);
    if (pod == nullptr) break;
    start->pod = pod->FullName();
    known[*unknown] = std::move(pod);
    unknown = binder_->PodToKnow(binding, start->ids, known);
  }
  if (!unknown) return Refuse(*start, unknown.error());
  if (unknown->empty()) {
    return binder_->Bind(
        binding, start->ids, known,
        [self = shared_from_this(), start](Status bound) { self->Bound(start, std::move(bound)); });
  }
  context_->pods.Await(*unknown, kPodComes,
                       [self = shared_from_this(), start, uid = *unknown](
                           const Result<PodPtr>& pod) { self->PodArrived(start, uid, pod); });
}

void Allocator::PodArrived(const std::shared_ptr<Start>& start, const std::string& uid,
                           const Result<PodPtr>& pod) {
  start->pod = pod ? (*pod)->FullName() : uid;
  if (!pod && pod.error().reason == Reason::kNotPlaced) return Refuse(*start, pod.error(), uid);
  if (!pod) {
    return Refuse(*start,
                  {Reason::kGrantUnknown,
                   fmt::format("{}: the API server does not say what pod {} asks for: {}",
                               resource_, uid, pod.error().message)},
                  uid);
  }
  start->known[uid] = *pod;
  workers_->Run([self = shared_from_this(), start] { self->Bind(start); });
}

void Allocator::Refuse(const Start& start, const Error& error, const std::string& pod_uid) {
  refusals_.LogRefusal("a container is not started", error,
                       start.pod.empty() ? error.message : start.pod,
                       {{"resource", resource_},
                        {"ids", Join(start.ids, ",")},
                        {"pod", start.pod.empty() ? "unknown" : start.pod}});
  context_->events.RecordRefusal({.pod_uid = pod_uid, .resource = resource_, .error = error});
  FinishStart(start, Fail(error));
}

void Allocator::FinishStart(const Start& start, Status status) {
  const Error* error = status ? nullptr : &status.error();
  metrics_.Add(http::Metric::kPreStarts, {resource_, CodeOf(error)});
  {
    const MutexLock lock(mutex_);
    fault_ = error != nullptr && IsOfTheNode(error->reason) ? std::optional(*error) : std::nullopt;
    faulted_ = SystemClock().Now();
  }
  start.done(std::move(status));
}

std::optional<Error> Allocator::start_fault() const {
  const MutexLock lock(mutex_);
  return SystemClock().Now() - faulted_ < kFaultLasts ? fault_ : std::nullopt;
}

Status Allocator::Reset(const Snapshot& snapshot, const std::vector<std::string>& ids,
                        const std::function<bool()>& wanted) {
  std::set<uint32_t> done;
  for (const std::string& id : ids) {
    const Share* share = snapshot.offer->shares.Find(id);
    if (share == nullptr)
      return Fail(Reason::kUnknownShare, "{} has no id {}", resource_, Brief(id));
    if (!done.insert(share->device).second) continue;
    const Device& device = snapshot.offer->devices[share->device];
    // kubelet may have given the device to another container by now.
    if (!wanted()) {
      return Fail(Reason::kResetTimedOut,
                  "{}: device {} was not reset: kubelet no longer waits for it", resource_,
                  device.key.id);
    }
    TRY(ResetOne(*snapshot.backend, device));
  }
  return {};
}

// Two resets of one device must not overlap: a reset that hangs could strike the container that a
// second reset let start. So the device is refused while a reset runs.
Status Allocator::ResetOne(Backend& backend, const Device& device) {
  {
    const MutexLock lock(mutex_);
    if (!resetting_.insert(device.key.id).second) {
      return Fail(Reason::kResetTimedOut, "{}: a reset of device {} is still under way", resource_,
                  device.key.id);
    }
  }
  const Status status = backend.Reset(device);
  const MutexLock lock(mutex_);
  resetting_.erase(device.key.id);
  if (status) return {};
  return Fail(Reason::kResetFailed, "{}: device {} could not be reset: {}", resource_,
              device.key.id, status.error().message);
}

}  // namespace tessera::agent
