// SPDX-License-Identifier: Apache-2.0
// One configured resource while it is served: its backend's scans and checks feed the node, what
// the node says of the devices becomes the offer, and the offer goes to kubelet.
//   backend --scan, check--> Node --> Divide --> offer --> Allocator and kubelet's streams
// One thread: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/allocator.h"
#include "agent/node.h"
#include "agent/prober.h"
#include "backend/backend.h"
#include "config/config.h"
#include "http/metrics.h"
#include "kubelet/plugin.h"
#include "os/loop.h"
#include "os/worker.h"

namespace tessera::agent {

// What a served resource shares with the rest of the agent. All outlive it.
struct Shared {
  os::Loop& loop;
  os::Workers& workers;
  http::Metrics& metrics;
  Node& node;
  kubelet::PluginObserver& observer;
  // Writes the state if it changed; before every list that goes out, so that what kubelet was told
  // is never better than what the next start would read.
  std::function<void()> save_state;
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
  // Another configuration of the same resource. Kept: the registration, unless what kubelet reads
  // at registration changes; the backend, unless its section changes.
  void Apply(const config::Config& config, const config::Resource& resource);
  // The node changed its mind about devices of this source.
  void Changed(bool bad_news);
  // kubelet's directories changed.
  void Look();
  // kubelet says how many healthy ids of this resource it can hand out. None, twice in a row, while
  // it has our list with healthy ones in it: it has lost us, and we register again. False on the
  // first doubt.
  bool Compare(int allocatable);

  void RescanSoon() override;                                     // any thread
  void Report(const DeviceKey& key, Evidence evidence) override;  // any thread

  const config::Resource& resource() const { return resource_; }
  Backend& backend() { return *backend_; }
  OfferPtr offer() const { return allocator_->offer(); }
  const kubelet::Plugin* plugin() const { return plugin_.get(); }
  size_t list_bytes() const { return list_ == nullptr ? 0 : list_->size(); }
  // Why it is not served, if so: its list is too large for kubelet, or its backend did not start.
  const std::optional<Error>& refusal() const { return refusal_; }
  // Its devices have been looked for and checked on this boot.
  bool ready() const { return scanned_ && shared_.node.Verified(resource_.name); }
  // The CDI document in use, and where it is; empty without CDI.
  const std::string& cdi_document() const { return cdi_document_; }
  std::string cdi_path() const;

 private:
  struct Life;

  void StartBackend();
  void StopBackend();
  void MakePlugin();
  void Scan();
  void Scanned(uint64_t scan, Result<std::vector<Device>> devices);
  void ScheduleScan(Duration delay);
  void Publish();
  bool Premature() const;
  Policy CurrentPolicy();
  Offer MakeOffer(const Policy& policy, const Inventory& inventory) const;
  Offer FormerOffer() const;
  void Refuse(Error error);
  void WriteCdi(const Offer& offer);
  void RemoveCdi();
  std::vector<Device> OwnDevices() const;

  Shared shared_;
  config::Resource resource_;
  config::Config config_;  // of the last Apply, without use of its resources
  const kubelet::RegistrationPath path_;
  const kubelet::Directories directories_;
  std::shared_ptr<Life> life_;

  std::shared_ptr<Backend> backend_;
  // Threads of this resource alone, so that calls into its hardware that hang starve no other
  // resource's. A check that finds no thread is no check: its device becomes stale.
  os::Workers checks_;
  os::Workers resets_;
  std::unique_ptr<Prober> prober_;
  std::shared_ptr<Allocator> allocator_;
  std::unique_ptr<kubelet::Plugin> plugin_;

  kubelet::ListBytes list_;             // the last one that fit
  Policy policy_;                       // and the policy it was made by
  std::optional<Error> refusal_;        // of the newest offer
  std::optional<Error> backend_error_;  // the backend did not start
  std::string cdi_document_;
  bool doubted_ = false;  // kubelet's last answer had none of our healthy ids
  uint64_t scan_ = 0;     // the newest scan begun; answers of former ones are dropped
  bool scanning_ = false;
  bool rescan_ = false;         // asked for while one was under way
  bool settling_ = false;       // another backend's first scan is under way
  bool scanned_ = false;        // at least once, with this backend
  bool told_bad_news_ = false;  // within this debounce window
  bool waited_ = false;         // for the first checks, long enough
  os::Loop::Handle scan_timer_;
  os::Loop::Handle publish_timer_;
  os::Loop::Handle first_timer_;
  os::Loop::Handle settle_timer_;
};

}  // namespace tessera::agent
