// SPDX-License-Identifier: Apache-2.0
#include "agent/reconciler.h"

#include <utility>

#include "agent/device_log.h"
#include "os/notify.h"

namespace tessera::agent {
namespace {

constexpr Duration kReadyLimit{45'000};  // below TimeoutStartSec of deploy/tessera.service

}  // namespace

void Reconciler::Reconcile(const std::vector<Changes>& all) {
  ReconcileEach(all);
  // A device's fall or return can change the state of its rivals.
  ReconcileEach(at_.node.LookAtRivals());
  if (!all.empty()) AnnounceReady();
  SaveSoon();
}

void Reconciler::ReconcileEach(const std::vector<Changes>& all) {
  for (const Changes& changes : all) {
    if (ServedResource* resource = at_.resources.Find(changes.source)) {
      if (const auto due = resource->DueAfter(changes.urgency)) Publish(*resource, *due);
    }
    ReportTransitions(changes);
  }
}

void Reconciler::Publish(ServedResource& resource, Urgency urgency) {
  if (resource.IsPremature()) return;
  // Falls are saved before any list goes out. After a crash in between, the next agent reads the
  // fall, and does not offer the device.
  at_.saver.SaveFalls();
  // Allocate runs on other threads and may grant a share that the new offer lacks. So such shares
  // are withdrawn first. A share that was granted before that is held, and the next Divide keeps
  // it. The loop ends when there is no share to withdraw.
  std::optional<Draft> draft = resource.Divide();
  while (draft && resource.Withdraw(*draft->offer)) draft = resource.Divide();
  if (!draft && resource.offering().published()) resource.GrantFrom(resource.offer());
  // The plan is saved before kubelet can grant its ids, so the next agent knows them. If that
  // fails, kubelet's checkpoint still names the held ones. An urgent list with the same plan does
  // not wait for the disk.
  const bool other_plan = draft && at_.node.SetPlan(resource.name(), draft->offer->plan);
  if (urgency == Urgency::kCanWait || other_plan) (void)at_.saver.SaveFacts();
  if (draft) {
    // The order is: CDI documents, allocator, list. So a runtime finds every device that a grant
    // names, and Allocate knows every id that kubelet may ask for.
    WriteCdi(resource, *draft->offer);
    resource.GrantFrom(draft->offer);
    resource.Publish(*std::move(draft));
  }
  if (urgency == Urgency::kAtOnce) (void)at_.saver.SaveFacts();
}

void Reconciler::WriteCdi(ServedResource& resource, const Offer& offer) {
  std::optional<ServedResource::Description> description = resource.Describe(offer);
  if (!description) return;
  at_.cdi.Write(resource.name(), description->directory, std::move(description->documents),
                at_.node.ledger().AnyMayBeInUse(resource.name()), description->since);
}

// Runs after the list went out: kubelet does not wait for these reports.
void Reconciler::ReportTransitions(const Changes& changes) {
  at_.node_reporter.Changed();
  // Labels depend on the devices, not on their health, so only new facts cause a reading.
  const uint64_t facts = at_.node.facts_generation();
  if (std::exchange(labelled_facts_, facts) != facts) {
    at_.labels.ReadSoon();
  }
  if (changes.transitions.empty()) return;
  at_.saver.SaveFalls();  // the next list, which also saves them, may be a debounce away
  LogTransitions(changes.source, changes.transitions, at_.metrics);
  at_.node_reporter.ReportTransitions(changes.source, changes.transitions);
  ReportHolders(changes.source, changes.transitions, at_.node.ledger());
}

// kubelet may start after us, so this does not wait for it. Without READY the service manager would
// kill the agent at its start timeout. So READY is sent at the latest after kReadyLimit.
void Reconciler::AnnounceReady() {
  if (announced_) return;
  if (!at_.resources.Ready() && SystemClock().Now() - began_ < kReadyLimit) return;
  announced_ = true;
  os::NotifyServiceManager("READY=1");
  at_.node_reporter.StartReporting();
}

void Reconciler::SaveSoon() {
  if (at_.saver.unsaved()) at_.tick.RingWithin(kTick);
}

void Reconciler::ScanEnded(ServedResource& resource, Result<Scanner::ScanResult> found,
                           bool awaited) {
  const InventoryPtr before = at_.node.inventory();
  if (!found) Reconcile({});
  if (found) {
    Reconcile(at_.node.UpdateDevices(resource.name(), std::move(found->devices)));
    // A vanished device leaves with the second scan that misses it.
    if (at_.node.AnyMayLeave(resource.name())) resource.ScanSoon();
  }
  resource.CheckDevices();
  if (awaited || !resource.WaitsToPublish()) ListDue(resource);
  // Last, because it may end `resource`: a family's resource ends when its devices have left.
  if (at_.node.inventory() != before) at_.resources.SettleFamilies();
}

void Reconciler::Observed(ServedResource& resource, const std::vector<Observation>& seen) {
  Reconcile(at_.node.Observe(resource.name(), seen));
}

void Reconciler::Unverified(ServedResource& resource, const Error& why) {
  Reconcile(at_.node.Unverify(resource.name(), why.reason, why.message));
}

void Reconciler::ObstacleSeen(ServedResource& resource, std::optional<Error> obstacle) {
  Reconcile(at_.node.SetObstacle(resource.name(), std::move(obstacle)));
}

void Reconciler::ExclusiveGranted(ServedResource&) {
  Reconcile({});
}

void Reconciler::ListDue(ServedResource& resource) {
  Publish(resource, Urgency::kCanWait);
  SaveSoon();
}

void Reconciler::AdoptState() {
  StateSaver::Saved saved = at_.saver.Load();
  std::vector<Changes> cordons;
  if (saved.facts) {
    at_.node.AdoptPlans(saved.facts->plans);
    cordons = at_.node.AdoptCordons(std::move(saved.facts->cordons));
  }
  const std::vector<Changes> falls = at_.node.AdoptFalls(saved.verdicts);
  // Reconcile saves the state, so all of the former state is adopted first.
  Reconcile(cordons);
  Reconcile(falls);
  at_.node_reporter.Changed();
  at_.labels.ReadSoon();
}

Result<DeviceKey> Reconciler::Cordon(std::string_view device, std::string_view reason) {
  return ReconcileOrder(at_.node.Cordon(device, reason));
}

Result<DeviceKey> Reconciler::Uncordon(std::string_view device) {
  return ReconcileOrder(at_.node.Uncordon(device));
}

Result<DeviceKey> Reconciler::ReconcileOrder(const Result<Node::OrderResult>& ordered) {
  if (!ordered) return Fail(ordered.error());
  Reconcile(ordered->changes);
  return ordered->device;
}

void Reconciler::WasReset(const DeviceKey& device) {
  if (const Device* const known = at_.node.inventory()->Find(device)) {
    at_.resources.LearnReset(*known);
  }
  Reconcile(at_.node.Observe(device.source, {{device,
                                              {.kind = EvidenceKind::kReset,
                                               .source = EvidenceSource::kCall,
                                               .reason = Reason::kResetNeeded,
                                               .detail = "it was reset"}}}));
}

}  // namespace tessera::agent
