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
  // What is out because of one of them.
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
  // Falls are logged before any list goes out.
  at_.saver.SaveFalls();
  // The devices are divided. What is to go is granted to nobody from here on, and what of it was
  // granted until then is held: it stays.
  std::optional<Draft> draft = resource.Divide();
  while (draft && resource.Withdraw(*draft->offer)) draft = resource.Divide();
  if (!draft && resource.offering().published()) resource.GrantFrom(resource.offer());
  // Ids of another plan are to be known to the next start before anybody can hold one; where they
  // cannot be saved, kubelet's checkpoint tells of those that are held. A disk's time holds up no
  // bad news.
  const bool other_plan = draft && at_.node.SetPlan(resource.name(), draft->offer->plan);
  if (urgency == Urgency::kCanWait || other_plan) (void)at_.saver.SaveFacts();
  if (draft) {
    // Before the list goes out: no container names a device that the runtime cannot find, and an
    // Allocate for what it adds finds it.
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

// After kubelet, which waits for none of it.
void Reconciler::ReportTransitions(const Changes& changes) {
  at_.node_reporter.Changed();
  // Not for what is told of a device, but for other devices.
  const uint64_t facts = at_.node.facts_generation();
  if (std::exchange(labelled_facts_, facts) != facts) {
    at_.labels.ReadSoon();
  }
  if (changes.transitions.empty()) return;
  at_.saver.SaveFalls();  // not only with the next list, which may be a debounce away
  LogTransitions(changes.source, changes.transitions, at_.metrics);
  at_.node_reporter.ReportTransitions(changes.source, changes.transitions);
  ReportHolders(changes.source, changes.transitions, at_.node.ledger());
}

// kubelet may start only after us. A service manager that is never told ends what it has started,
// and begins again.
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
    // What has vanished leaves with the scan after the one that missed it.
    if (at_.node.AnyMayLeave(resource.name())) resource.ScanSoon();
  }
  resource.CheckDevices();
  if (awaited || !resource.WaitsToPublish()) ListDue(resource);
  // Last: a resource of a family whose devices have left ends.
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
  // Not before all of it is adopted: what follows is saved.
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
  Reconcile(at_.node.Observe(device.source, {{device,
                                              {.kind = EvidenceKind::kReset,
                                               .source = EvidenceSource::kCall,
                                               .reason = Reason::kResetNeeded,
                                               .detail = "it was reset"}}}));
}

}  // namespace tessera::agent
