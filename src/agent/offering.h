// SPDX-License-Identifier: Apache-2.0
// One resource as kubelet sees it: its offer, the list of it, the allocator that grants from it,
// and the endpoint. The reconciler decides when each of them changes. Owned by ServedResource. One
// thread: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/allocator.h"
#include "config/schema/config.h"
#include "http/metrics.h"
#include "kubelet/plugin.h"
#include "node/node.h"
#include "os/loop.h"
#include "os/worker.h"

namespace tessera::agent {

// An offer, and the list that kubelet gets of it.
struct Draft {
  OfferPtr offer;
  kubelet::ListBytes list;
};

class Offering {
 public:
  struct Surroundings {
    os::Loop& loop;
    os::Workers& workers;
    http::Metrics& metrics;
    const Node& node;
    kubelet::PluginObserver& observer;
    std::shared_ptr<GrantBinder> binder;
    std::shared_ptr<BindContext> context;
    std::shared_ptr<RecentGrant> recent;
    std::function<void()> exclusive_granted;  // any thread; the device excludes other devices
  };
  // Each grant is put into `inbox` before Allocate is answered.
  Offering(Surroundings at, const config::Config& config, const std::string& resource,
           kubelet::RegistrationPath path, const kubelet::Directories& directories,
           const kubelet::PluginOptions& options, std::shared_ptr<GrantInbox> inbox);
  Offering(const Offering&) = delete;
  Offering& operator=(const Offering&) = delete;

  kubelet::Plugin& plugin() { return *plugin_; }
  const kubelet::Plugin& plugin() const { return *plugin_; }
  Allocator& allocator() const { return *allocator_; }

  // Divides the current devices by the policy. If that list is too large for kubelet, divides the
  // former devices by the former policy, with today's health. Nothing if there is no former list.
  // `error`: why the resource is not served all the same.
  std::optional<Draft> Divide(const Policy& policy, const std::optional<Error>& error);
  // Stops grants of shares that `next` does not have. True if there were any.
  bool Withdraw(const Offer& next, Allocator::Snapshot terms);
  // Grants from this offer from now on. `terms` come without an offer.
  void GrantFrom(OfferPtr offer, Allocator::Snapshot terms);
  // Sends the list, unless kubelet has the same one.
  void Publish(Draft draft);
  // Sends the last list again. Requires published().
  void Republish() { plugin_->Publish(list_); }

  // Takes the number of healthy ids that kubelet can grant. If it stays zero although our list has
  // healthy ids, kubelet has lost us, and we register again. False while that is in doubt.
  bool Compare(int allocatable);

  // A list was published.
  bool published() const { return list_ != nullptr; }
  // The offer of kubelet's last list.
  const OfferPtr& offer() const { return offer_; }
  bool streaming() const { return plugin_->state() == kubelet::PluginState::kStreaming; }
  size_t list_bytes() const { return list_ == nullptr ? 0 : list_->size(); }
  // Why the newest offer is not served; nothing: it is.
  const std::optional<Error>& refusal() const { return refusal_; }

 private:
  Result<Draft> DraftBy(const Policy& policy, const Inventory& inventory) const;
  Inventory FormerDevices() const;
  void Refuse(Error error);

  const Surroundings at_;
  const std::string resource_;
  std::shared_ptr<Allocator> allocator_;
  std::unique_ptr<kubelet::Plugin> plugin_;
  kubelet::ListBytes list_;  // the last one that fit
  OfferPtr offer_ = std::make_shared<Offer>();
  std::optional<Error> refusal_;
  std::optional<Steady> doubted_;  // since when kubelet's answers have lacked our healthy ids
};

}  // namespace tessera::agent
