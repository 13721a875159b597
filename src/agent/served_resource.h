// SPDX-License-Identifier: Apache-2.0
// One configured resource while it is served: its backend's scans and checks feed the node, what
// the node says of the devices becomes the offer, and the offer goes to kubelet.
//   backend --scan, check--> Node --> Divide --> offer --> Allocator and kubelet's streams
// One thread: the loop's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/allocator.h"
#include "agent/bind/grant_trouble.h"
#include "agent/cdi/cdi_documents.h"
#include "agent/node.h"
#include "agent/prober.h"
#include "agent/scanner.h"
#include "backend/backend.h"
#include "config/schema/config.h"
#include "grant/grant.h"
#include "http/metrics.h"
#include "kubelet/plugin.h"
#include "os/loop.h"
#include "os/mailbox.h"
#include "os/worker.h"

namespace tessera::agent {

// What a served resource shares with the rest of the agent. All outlive it.
struct Shared {
  os::Loop& loop;
  os::Workers& workers;
  http::Metrics& metrics;
  Node& node;
  CdiDocuments& cdi;
  kubelet::PluginObserver& observer;
  std::shared_ptr<GrantBinder> binder;
  std::shared_ptr<PodBook> book;
  // Write what changed. Falls before every list that goes out, so that the next start never reads
  // better of a device than kubelet was told; facts, which take a disk's time, before good news and
  // after bad.
  std::function<void()> save_falls;
  std::function<void()> save_facts;
  // A container's directory was cut back.
  std::function<void(const GrantSpace::Cut& cut)> space_cut;
};

class ServedResource : public BackendEvents {
 public:
  ServedResource(Shared shared, const config::Config& config, const config::Resource& resource,
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
  // The node changed its mind about devices of this source.
  void Changed(bool bad_news);
  // kubelet's directories changed.
  void Look();
  // kubelet says how many healthy ids of this resource it can hand out. None, time and again, while
  // it has our list with healthy ones in it: it has lost us, and we register again. False as long
  // as that is in doubt.
  bool Compare(int allocatable);
  // The last list once more; there is one.
  void Repeat();

  void RescanSoon() override;                                              // any thread
  void Report(const DeviceKey& key, Evidence evidence) override;           // any thread
  void CountXid(const std::string& gpu, const std::string& xid) override;  // any thread

  const config::Resource& resource() const { return resource_; }
  Backend& backend() { return *backend_; }
  // What kubelet was last told.
  OfferPtr offer() const { return offer_; }
  // How most devices are divided.
  const Policy& policy() const { return list_ == nullptr ? resource_.policy : offer_->plan.policy; }
  // Devices that keep their former shares, for as long as somebody may hold one of them.
  size_t waiting() const;
  const kubelet::Plugin* plugin() const { return plugin_.get(); }
  // kubelet listens.
  bool streaming() const { return plugin_->state() == kubelet::PluginState::kStreaming; }
  size_t list_bytes() const { return list_ == nullptr ? 0 : list_->size(); }
  // Why it is not served, if so: its list is too large for kubelet, or its backend did not start.
  const std::optional<Error>& refusal() const { return refusal_; }
  // That, or why the last scan found nothing out at all, such as a driver that is missing, or why
  // no virtual GPU can be granted. The text names the resource.
  const std::optional<Error>& trouble() const {
    return refusal_ ? refusal_ : scan_error_ ? scan_error_ : grants_trouble_;
  }
  // Why the node could not make a container's grant ready, if so when it last had to.
  std::optional<Error> start_fault() const { return allocator_->start_fault(); }
  // Why nothing is known of its devices, if its backend was told to let go of the vendor's library.
  const std::optional<Error>& released() const { return released_; }
  // Its CDI documents, if it needs any, are those for devices that a scan of this process has
  // found.
  bool described() const { return described_ || !WritesCdi(resource_.rendering); }
  // Its devices have been looked for and checked on this boot.
  bool ready() const { return scanned_ && shared_.node.Verified(resource_.name); }

 private:
  std::shared_ptr<Backend> MakeBackend() const;
  void CheckVgpus();
  void TellOfVgpus(const Status& checked);
  void WarnOfMounts();
  void StartBackend();
  void LetGo();
  void StopBackend();
  void Scanned(Result<Scanner::Found> found);
  void Observed(const std::vector<Observation>& observations);
  std::vector<Observation> WithoutSilence(std::vector<Observation> observations) const;
  enum class News : bool { kGood, kBad };
  void Publish(News news = News::kGood);
  bool Premature() const;
  struct Draft {
    OfferPtr offer;
    kubelet::ListBytes list;
  };
  std::optional<Draft> MakeDraft();
  Result<Draft> DraftBy(const Policy& policy, const Inventory& inventory) const;
  Inventory FormerDevices() const;
  bool Withdraw(const Offer& next);
  void GrantFrom(OfferPtr offer);
  void Serve(Draft draft);
  void WriteCdi(const Offer& offer);
  std::string CdiDirectory() const;
  void TellOfWaiting();
  void Refuse(Error error);
  DeviceList OwnDevices() const;

  Shared shared_;
  config::Resource resource_;
  config::Config config_;  // of the last Apply, without use of its resources

  std::shared_ptr<Backend> backend_;
  // Threads of this resource's backend alone, so that calls into its hardware that hang starve no
  // other. A check that finds no thread is no check: its device becomes stale.
  std::shared_ptr<os::Workers> hardware_;
  std::unique_ptr<Scanner> scanner_;
  std::unique_ptr<Prober> prober_;
  std::shared_ptr<Allocator> allocator_;
  std::unique_ptr<kubelet::Plugin> plugin_;

  kubelet::ListBytes list_;                  // the last one that fit
  OfferPtr offer_;                           // and what it is of
  std::optional<Error> refusal_;             // of the newest offer
  std::optional<Error> backend_error_;       // the backend did not start
  std::optional<Error> scan_error_;          // the last scan failed as a whole
  std::optional<Error> grants_trouble_;      // no virtual GPU can be granted, as was last logged
  std::optional<MissingFlags> mount_flags_;  // that the log has asked for
  std::optional<Error> release_order_;       // whether its backend follows it or not
  std::optional<Error> released_;            // and if it does
  std::shared_ptr<const cdi::Parts> cdi_;    // by the last good scan of this backend
  // Why devices wait, as it was last logged.
  struct Wait {
    Policy policy;
    bool known = false;  // who holds what
    bool operator==(const Wait&) const = default;
  };
  std::optional<Wait> wait_;
  std::optional<Steady> doubted_;  // since when kubelet's answers have had none of our healthy ids
  bool settling_ = false;          // another backend's first scan is under way
  bool begun_ = false;             // what the backend reported at its start is judged
  bool scanned_ = false;           // at least once, with this backend
  bool described_ = false;         // for CDI, since a scan
  bool seen_anew_ = false;         // by a scan, since CDI documents were written
  bool told_bad_news_ = false;     // within this debounce window
  bool waited_ = false;            // for the first checks, long enough
  os::Loop::Handle vgpus_timer_;
  os::Loop::Handle publish_timer_;
  os::Loop::Handle first_timer_;
  os::Loop::Handle settle_timer_;
  os::Mailbox<ServedResource> mailbox_;
};

using ServedResources = std::map<std::string, std::unique_ptr<ServedResource>>;  // by name

}  // namespace tessera::agent
