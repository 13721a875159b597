// SPDX-License-Identifier: Apache-2.0
// One resource while it is served: its discovery (discovery.h), its offering (offering.h), and when
// its list is due. It passes events to the reconciler (ResourceEvents), which carries out the
// consequences. Owned by ResourceSet.
//
//   kStarting ──the backend's first reports are judged──▶ kFirstChecks
//   kFirstChecks ──devices are checked, or kFirstCheckLimit is over──▶ kServing
//   kServing, or before ──another kind of device is configured──▶ kChangingKind
//   kChangingKind ──that kind's first scan, or kChangeLimit is over──▶ kServing
//
// One thread: the loop's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/allocator.h"
#include "agent/offering.h"
#include "backend/found_devices.h"
#include "cdi/cdi_documents.h"
#include "config/schema/config.h"
#include "discovery/discovery.h"
#include "fraction/grant_readiness.h"
#include "grant/cdi_document.h"
#include "http/metrics.h"
#include "kubelet/plugin.h"
#include "node/node.h"
#include "os/loop.h"
#include "os/mailbox.h"
#include "os/worker.h"
#include "prepare/preparations.h"

namespace tessera::agent {

class ServedResource;

// Events of a served resource that can change the node's state. Called on the loop's thread.
class ResourceEvents {
 public:
  virtual ~ResourceEvents() = default;
  // A scan ended. The call may destroy the resource. `awaited`: a list waited for the scan.
  virtual void ScanEnded(ServedResource& resource, Result<Scanner::ScanResult> found,
                         bool awaited) = 0;
  virtual void Observed(ServedResource& resource, const std::vector<Observation>& seen) = 0;
  // Its backend has closed or reopened the vendor's library. Its devices are unverified, with this
  // reason, until they are checked.
  virtual void Unverified(ServedResource& resource, const Error& why) = 0;
  // Why none of its devices can be granted; nothing: the obstacle is gone.
  virtual void ObstacleSeen(ServedResource& resource, std::optional<Error> obstacle) = 0;
  // A device was granted that excludes other devices.
  virtual void ExclusiveGranted(ServedResource& resource) = 0;
  // Its list must be rebuilt.
  virtual void ListDue(ServedResource& resource) = 0;
};

class ServedResource : public DiscoveryEvents {
 public:
  // All outlive it.
  struct Surroundings {
    os::Loop& loop;
    os::Workers& workers;
    http::Metrics& metrics;
    Node& node;
    CdiDocuments& cdi;
    ResourceEvents& events;
    kubelet::PluginObserver& observer;
    std::shared_ptr<BindContext> context;
    std::shared_ptr<Preparations> preparations;
    std::shared_ptr<FoundDevices> found = std::make_shared<FoundDevices>();
    std::shared_ptr<RecentGrant> recent = std::make_shared<RecentGrant>();
  };
  ServedResource(const Surroundings& at, std::shared_ptr<GrantBinder> binder,
                 const config::Config& config, const config::Resource& resource,
                 kubelet::RegistrationPath path, const kubelet::Directories& directories);
  ~ServedResource() override;
  ServedResource(const ServedResource&) = delete;
  ServedResource& operator=(const ServedResource&) = delete;

  // Starts with the devices that the node knows, and a scan.
  void Start();
  // Makes its backend close the vendor's library, with this error for its devices; nothing: opens
  // it again. May be called before Start.
  void SetReleased(std::optional<Error> released);
  // Adopts another configuration of the same resource. The registration stays, unless options that
  // kubelet reads at registration change. The backend stays, unless its section changes.
  void Apply(const config::Config& config, const config::Resource& resource);
  // kubelet's directories or files of the node may have changed.
  void PollFiles();
  void RescanSoon() { discovery_.RescanSoon(); }
  void ScanSoon() { discovery_.ScanSoon(); }
  void CheckSoon() { discovery_.CheckSoon(); }

  // Its devices changed, with this urgency. Returns the urgency of the list that is due now;
  // nothing: the list waits. The first list and the first bad news are due at once. Other changes
  // within the debounce become one list.
  std::optional<Urgency> DueAfter(Urgency urgency);
  // True while a list is due at the end of the debounce.
  bool WaitsToPublish() const { return window_.has_value(); }
  // True if a list now would soon be replaced: the devices are not found or checked yet, or another
  // kind's first scan still runs.
  bool IsPremature() const;
  // As Offering's, with this configuration and the last scan.
  std::optional<Draft> Divide();
  bool Withdraw(const Offer& next) { return offering_->Withdraw(next, Terms()); }
  void GrantFrom(OfferPtr offer) { offering_->GrantFrom(std::move(offer), Terms()); }
  void Publish(Draft draft);
  // Its CDI documents for this offer. Nothing before the first scan, if the documents need one: an
  // earlier process's documents are better until then.
  struct Description {
    std::string directory;
    std::vector<cdi::Document> documents;
    CdiDocuments::Since since;
  };
  std::optional<Description> Describe(const Offer& offer);
  // Has its present, readable devices checked.
  void CheckDevices();

  const std::string& name() const { return resource_.name; }
  const config::Resource& resource() const { return resource_; }
  const Discovery& discovery() const { return discovery_; }
  Offering& offering() { return *offering_; }
  const Offering& offering() const { return *offering_; }
  Backend& backend() const { return discovery_.backend(); }
  // The offer of kubelet's last list.
  const OfferPtr& offer() const { return offering().offer(); }
  // The policy that divides most devices.
  const Policy& policy() const {
    return offering().published() ? offer()->plan.policy : resource_.policy;
  }
  // The number of devices that keep their former shares because a container may hold one.
  size_t waiting() const;
  // Why it is not served: its list is too large for kubelet, or its backend did not start. Nothing:
  // it is served.
  const std::optional<Error>& refusal() const { return offering().refusal(); }
  // The refusal, or why the last scan failed (a missing driver), or why no virtual GPU can be
  // granted. The text names the resource.
  const std::optional<Error>& trouble() const;
  // The error of its devices while its vendor's library is released.
  const std::optional<Error>& released() const { return discovery_.released(); }
  // True if it needs no CDI documents, or has made them from a scan of this process.
  bool described() const { return described_ || !WritesCdi(resource_.rendering); }
  // True once its devices are scanned and checked on this boot.
  bool ready() const { return discovery_.scanned() && at_.node.Verified(resource_.name); }

  // Called by its discovery.
  void ScanEnded(Result<Scanner::ScanResult> found) override;
  void ChecksEnded(const std::vector<Observation>& observations) override;
  void DeviceReported(const Observation& observation) override;
  void DriverErrorReported(const std::string& device, const std::string& code) override;

 private:
  enum class Phase : uint8_t { kStarting, kFirstChecks, kServing, kChangingKind };

  void ServePreparations();
  void ShowDevices();
  void AddWholeParts(FoundDevices::Terms& terms) const;
  void StartDiscovery();
  void EndChange();
  void LookAtGrants();
  std::vector<Observation> WithoutSilence(std::vector<Observation> observations) const;
  DeviceList OwnDevices() const;
  Allocator::Snapshot Terms() const;
  std::string CdiDirectory() const;
  void TellOfWaiting();

  const Surroundings at_;
  config::Resource resource_;
  config::Config config_;  // of the last Apply; its `resources` are unused
  Phase phase_ = Phase::kStarting;
  Discovery discovery_;
  std::unique_ptr<Offering> offering_;
  GrantReadiness readiness_;
  // The highest urgency of this debounce window; nothing: no window is open. kAtOnce: bad news has
  // already gone out in it.
  std::optional<Urgency> window_;
  // Why devices wait, as last logged.
  struct Wait {
    Policy policy;
    bool known = false;  // the holders are known
    bool operator==(const Wait&) const = default;
  };
  std::optional<Wait> wait_;
  // CDI documents were made from a scan; another kind's first scan does not reset it.
  bool described_ = false;
  bool scanned_anew_ = false;  // a scan ended after the last CDI documents
  os::Loop::Handle grants_timer_;
  os::Loop::Handle window_timer_;
  os::Loop::Handle first_timer_;   // runs while the first list may wait for first checks
  os::Loop::Handle change_timer_;  // runs while the list waits for another kind's first scan
  os::Mailbox<ServedResource> mailbox_;
};

using ServedResources = std::map<std::string, std::unique_ptr<ServedResource>>;  // by name

}  // namespace tessera::agent
