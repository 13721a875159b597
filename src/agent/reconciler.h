// SPDX-License-Identifier: Apache-2.0
// The one way from what happens to devices to what kubelet, people and the disk know of them.
// Whatever happens is judged by the node, which returns what changed; Reconcile gives each resource
// its list, and then tells the others. Publish has the order that makes a crash safe: what is saved
// is never better than what kubelet was told. Owned by the agent. One thread: the loop's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/resource_set.h"
#include "agent/served_resource.h"
#include "agent/state_saver.h"
#include "cdi/cdi_documents.h"
#include "http/metrics.h"
#include "node/node.h"
#include "os/alarm.h"
#include "report/label_sync.h"
#include "report/node_reporter.h"

namespace tessera::agent {

class Reconciler : public ResourceEvents {
 public:
  // All outlive it. `tick` rings soon after anything changed, to save it.
  struct Surroundings {
    Node& node;
    StateSaver& saver;
    CdiDocuments& cdi;
    ResourceSet& resources;
    NodeReporter& node_reporter;
    LabelSync& labels;
    http::Metrics& metrics;
    os::Alarm& tick;
  };
  static constexpr Duration kTick{1'000};

  explicit Reconciler(const Surroundings& at) : at_(at) {}

  // Does what follows from these changes, and from those that they make to other devices.
  void Reconcile(const std::vector<Changes>& all);
  // Devices of which nothing was heard for too long are out.
  void Tick() { Reconcile(at_.node.Tick()); }
  // This instance has become the writer of the state: what the former one wrote counts.
  void AdoptState();
  // Takes a device out by a person's order, or puts it back.
  Result<DeviceKey> Cordon(std::string_view device, std::string_view reason);
  Result<DeviceKey> Uncordon(std::string_view device);
  // A person says that it was reset.
  void WasReset(const DeviceKey& device);

  // "Ready" to the service manager, and the time to tell of devices, is when they are checked.
  void AnnounceReady();
  bool announced() const { return announced_; }

  // What happens to resources.
  void ScanEnded(ServedResource& resource, Result<Scanner::ScanResult> found,
                 bool awaited) override;
  void Observed(ServedResource& resource, const std::vector<Observation>& seen) override;
  void Unverified(ServedResource& resource, const Error& why) override;
  void ObstacleSeen(ServedResource& resource, std::optional<Error> obstacle) override;
  void ExclusiveGranted(ServedResource& resource) override;
  void ListDue(ServedResource& resource) override;

 private:
  void ReconcileEach(const std::vector<Changes>& all);
  void Publish(ServedResource& resource, Urgency urgency);
  void WriteCdi(ServedResource& resource, const Offer& offer);
  void ReportTransitions(const Changes& changes);
  Result<DeviceKey> ReconcileOrder(const Result<Node::OrderResult>& ordered);
  void SaveSoon();

  const Surroundings at_;
  uint64_t labelled_facts_ = 0;  // their generation when the labels were last asked for
  const Steady began_ = SystemClock().Now();
  bool announced_ = false;
};

}  // namespace tessera::agent
