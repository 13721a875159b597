// SPDX-License-Identifier: Apache-2.0
// One configured resource while it is served: where its devices are discovered (discovery.h), what
// of them is offered (offering.h), and when its list is due. What happens to it is handed to the
// reconciler (ResourceEvents), which does what follows.
//
//   kStarting ──what the backend reported while it started is judged──▶ kFirstChecks
//   kFirstChecks ──devices are found and checked, or have had their time──▶ kServing
//   kServing, or before ──another kind of device is configured──▶ kChangingKind
//   kChangingKind ──the first scan of that kind, or its time is over──▶ kServing
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

// What happens to a served resource that concerns what is known of the node. Called on the loop's
// thread.
class ResourceEvents {
 public:
  virtual ~ResourceEvents() = default;
  // A scan ended; the resource may be destroyed within. `awaited`: a list waited for it.
  virtual void ScanEnded(ServedResource& resource, Result<Scanner::ScanResult> found,
                         bool awaited) = 0;
  virtual void Observed(ServedResource& resource, const std::vector<Observation>& seen) = 0;
  // Its backend has let go of the vendor's library, or taken it up again: nobody vouches for the
  // devices until they are checked, for this reason.
  virtual void Unverified(ServedResource& resource, const Error& why) = 0;
  // Why none of its devices can be granted; nothing: they can.
  virtual void ObstacleSeen(ServedResource& resource, std::optional<Error> obstacle) = 0;
  // A device was granted that keeps others out.
  virtual void ExclusiveGranted(ServedResource& resource) = 0;
  // Its list is to be made anew.
  virtual void ListDue(ServedResource& resource) = 0;
};

class ServedResource : public DiscoveryEvents {
 public:
  // All outlive it; `described` are the documents of all resources.
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
  };
  ServedResource(const Surroundings& at, std::shared_ptr<GrantBinder> binder,
                 const config::Config& config, const config::Resource& resource,
                 kubelet::RegistrationPath path, const kubelet::Directories& directories);
  ~ServedResource() override;
  ServedResource(const ServedResource&) = delete;
  ServedResource& operator=(const ServedResource&) = delete;

  // Begins with the devices the node knows from before, and a scan.
  void Start();
  // By order its backend is to let go of the vendor's library, with this to be said of its devices;
  // nothing: to take it up again. Before Start, too.
  void SetReleased(std::optional<Error> released);
  // Another configuration of the same resource. Kept: the registration, unless what kubelet reads
  // at registration changes; the backend, unless its section changes.
  void Apply(const config::Config& config, const config::Resource& resource);
  // kubelet's directories, or files of the node, may have changed.
  void PollFiles();
  void RescanSoon() { discovery_.RescanSoon(); }
  void ScanSoon() { discovery_.ScanSoon(); }
  void CheckSoon() { discovery_.CheckSoon(); }

  // What is to be said of its devices changed. How urgent the list that is due now is; none: it
  // waits. The first list and the first bad news go out at once, all else within `debounce` becomes
  // one list.
  std::optional<Urgency> DueAfter(Urgency urgency);
  // A list is due when the debounce ends.
  bool WaitsToPublish() const { return window_.has_value(); }
  // A better list is about to come: nothing is known yet, or not yet checked, or the devices of
  // another configuration are still being looked for.
  bool IsPremature() const;
  // As Offering has them, by this configuration and the last scan.
  std::optional<Draft> Divide();
  bool Withdraw(const Offer& next) { return offering_->Withdraw(next, Terms()); }
  void GrantFrom(OfferPtr offer) { offering_->GrantFrom(std::move(offer), Terms()); }
  void Publish(Draft draft);
  // Its CDI documents for this offer; nothing while what an earlier process wrote is better.
  struct Description {
    std::string directory;
    std::vector<cdi::Document> documents;
    CdiDocuments::Since since;
  };
  std::optional<Description> Describe(const Offer& offer);
  // The devices that can be checked.
  void CheckDevices();

  const std::string& name() const { return resource_.name; }
  const config::Resource& resource() const { return resource_; }
  const Discovery& discovery() const { return discovery_; }
  Offering& offering() { return *offering_; }
  const Offering& offering() const { return *offering_; }
  Backend& backend() const { return discovery_.backend(); }
  // What kubelet was last told.
  const OfferPtr& offer() const { return offering().offer(); }
  // How most devices are divided.
  const Policy& policy() const {
    return offering().published() ? offer()->plan.policy : resource_.policy;
  }
  // Devices that keep their former shares, for as long as somebody may hold one of them.
  size_t waiting() const;
  // Why it is not served, if so: its list is too large for kubelet, or its backend did not start.
  const std::optional<Error>& refusal() const { return offering().refusal(); }
  // That, or why the last scan found nothing out at all, such as a driver that is missing, or why
  // no virtual GPU can be granted. The text names the resource.
  const std::optional<Error>& trouble() const;
  // Why nothing is known of its devices, if its backend was told to let go of the vendor's library.
  const std::optional<Error>& released() const { return discovery_.released(); }
  // Its CDI documents, if it needs any, are those for devices that a scan of this process has
  // found.
  bool described() const { return described_ || !WritesCdi(resource_.rendering); }
  // Its devices have been looked for and checked on this boot.
  bool ready() const { return discovery_.scanned() && at_.node.Verified(resource_.name); }

  // For its discovery.
  void ScanEnded(Result<Scanner::ScanResult> found) override;
  void ChecksEnded(const std::vector<Observation>& observations) override;
  void DeviceReported(const Observation& observation) override;
  void DriverErrorReported(const std::string& device, const std::string& code) override;

 private:
  enum class Phase : uint8_t { kStarting, kFirstChecks, kServing, kChangingKind };

  void ServePreparations();
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
  config::Config config_;  // of the last Apply, without use of its resources
  Phase phase_ = Phase::kStarting;
  Discovery discovery_;
  std::unique_ptr<Offering> offering_;
  GrantReadiness readiness_;
  // The most urgent of this debounce window, in which the first bad news has gone out at once;
  // none: no list is due.
  std::optional<Urgency> window_;
  // Why devices wait, as it was last logged.
  struct Wait {
    Policy policy;
    bool known = false;  // who holds what
    bool operator==(const Wait&) const = default;
  };
  std::optional<Wait> wait_;
  // Since a scan there were CDI documents of: another kind's first scan does not take that back.
  bool described_ = false;
  bool scanned_anew_ = false;  // since CDI documents were written
  os::Loop::Handle grants_timer_;
  os::Loop::Handle window_timer_;
  os::Loop::Handle first_timer_;   // runs while the first list may wait for checks
  os::Loop::Handle change_timer_;  // runs while another kind's first scan is waited for
  os::Mailbox<ServedResource> mailbox_;
};

using ServedResources = std::map<std::string, std::unique_ptr<ServedResource>>;  // by name

}  // namespace tessera::agent
