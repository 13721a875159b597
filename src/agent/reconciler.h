// SPDX-License-Identifier: Apache-2.0
// The single path from device changes to kubelet, the disk and people. The node judges each event
// and returns the changes. Reconcile publishes the resources' lists, and then reports to everybody
// else. The order in Publish is crash-safe: the saved state is never healthier than kubelet's list.
// Owned by the agent. One thread: the loop's.
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
  // All outlive it. `tick` rings soon after a change, to save it.
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

  // Carries out these changes, and the changes that they cause in rival devices.
  void Reconcile(const std::vector<Changes>& all);
  // Takes out devices whose last evidence is too old.
  void Tick() { Reconcile(at_.node.Tick()); }
  // This instance has become the writer of the state: adopts the former writer's state.
  void AdoptState();
  // Carries out a person's order to take a device out, or to put it back.
  Result<DeviceKey> Cordon(std::string_view device, std::string_view reason);
  Result<DeviceKey> Uncordon(std::string_view device);
  // A person reports that the device was reset.
  void WasReset(const DeviceKey& device);

  // Once the devices are checked, or the limit is over: tells the service manager "ready", and lets
  // the node reporter begin.
  void AnnounceReady();
  bool announced() const { return announced_; }

  // ResourceEvents.
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
  uint64_t labelled_facts_ = 0;  // the facts' generation at the last reading of labels
  const Steady began_ = SystemClock().Now();
  bool announced_ = false;
};

}  // namespace tessera::agent
