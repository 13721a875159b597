// SPDX-License-Identifier: Apache-2.0
// What of one resource is offered to kubelet: the shares that its devices are divided into, the
// list of them, what is granted out of it, and the endpoint that kubelet talks to. The reconciler
// says when each of them changes. One thread: the loop's.
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

// An offer, and its list as kubelet gets it.
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
    std::function<void()> exclusive_granted;  // any thread: a device that keeps others out
  };
  // What an Allocate is answered with goes to `inbox`.
  Offering(Surroundings at, const config::Config& config, const std::string& resource,
           kubelet::RegistrationPath path, const kubelet::Directories& directories,
           const kubelet::PluginOptions& options, std::shared_ptr<GrantInbox> inbox);
  Offering(const Offering&) = delete;
  Offering& operator=(const Offering&) = delete;

  kubelet::Plugin& plugin() { return *plugin_; }
  const kubelet::Plugin& plugin() const { return *plugin_; }
  Allocator& allocator() const { return *allocator_; }

  // The devices as the policy divides them now, and their list; where that does not fit, of the
  // former devices and policy, with today's health; nothing when there is none. `error`: why the
  // resource is not served even so.
  std::optional<Draft> Divide(const Policy& policy, const std::optional<Error>& error);
  // Shares that `next` does not have are granted no more. True when there were any.
  bool Withdraw(const Offer& next, Allocator::Snapshot terms);
  // Out of this offer, or the one that is published, containers get what they ask for; `terms` is
  // without an offer.
  void GrantFrom(OfferPtr offer, Allocator::Snapshot terms);
  // The list goes out, unless kubelet has it.
  void Publish(Draft draft);
  // The last list once more; there is one.
  void Republish() { plugin_->Publish(list_); }

  // kubelet says how many healthy ids of this resource it can hand out. None, time and again, while
  // it has our list with healthy ones in it: it has lost us, and we register again. False as long
  // as that is in doubt.
  bool Compare(int allocatable);

  // A list was published.
  bool published() const { return list_ != nullptr; }
  // What kubelet was last told.
  const OfferPtr& offer() const { return offer_; }
  bool streaming() const { return plugin_->state() == kubelet::PluginState::kStreaming; }
  size_t list_bytes() const { return list_ == nullptr ? 0 : list_->size(); }
  // Why the newest offer is not served, if so.
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
  std::optional<Steady> doubted_;  // since when kubelet's answers have had none of our healthy ids
};

}  // namespace tessera::agent
