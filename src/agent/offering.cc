// SPDX-License-Identifier: Apache-2.0
#include "agent/offering.h"

#include <utility>
#include <vector>

#include "base/log.h"
#include "share/withhold.h"

namespace tessera::agent {
namespace {

// Shorter than the pause before the next comparison: kubelet needs a while for a long list.
constexpr Duration kDoubt{500};
constexpr int kPreStartThreads = 16;  // the limit of concurrent resets

// Records the ids as granted before Allocate answers. The inbox decides which devices exclude each
// other, because the offer may be older than the inbox's table.
Status Put(const Offer& offer, std::vector<std::string> ids, GrantInbox& inbox,
           const std::function<void()>& exclusive_granted) {
  const PutResult put = inbox.Put(offer.resource, std::move(ids), SystemClock().Now());
  if (put.rival) {
    return Fail(Reason::kExcluded,
                "{}: the requested hardware belongs to {} too, which may be in use", offer.resource,
                put.rival->Text());
  }
  if (put.excludes) exclusive_granted();
  return {};
}

}  // namespace

Offering::Offering(Surroundings at, const config::Config& config, const std::string& resource,
                   kubelet::RegistrationPath path, const kubelet::Directories& directories,
                   const kubelet::PluginOptions& options, std::shared_ptr<GrantInbox> inbox)
    : at_(std::move(at)), resource_(resource) {
  allocator_ = std::make_shared<Allocator>(
      resource_, std::make_shared<os::Workers>(kPreStartThreads), at_.binder, at_.context,
      at_.metrics,
      [inbox = std::move(inbox), told = at_.exclusive_granted](const Offer& offer,
                                                               std::vector<std::string> ids) {
        return Put(offer, std::move(ids), *inbox, told);
      },
      at_.recent);
  plugin_ = std::make_unique<kubelet::Plugin>(
      at_.loop, at_.workers,
      kubelet::Plugin::Parameters{.resource = resource_,
                                  .path = path,
                                  .directories = directories,
                                  .socket_prefix = config.kubelet.socket_prefix,
                                  .options = options,
                                  .register_timeout = config.kubelet.register_timeout,
                                  .stream_timeout = config.kubelet.stream_timeout},
      allocator_, at_.observer);
}

std::optional<Draft> Offering::Divide(const Policy& policy, const std::optional<Error>& error) {
  Result<Draft> draft = DraftBy(policy, *at_.node.inventory());
  if (draft) {
    refusal_ = error;
    return *std::move(draft);
  }
  at_.metrics.Add(http::Metric::kListsRefused, {resource_});
  Refuse(draft.error());
  if (!published()) return std::nullopt;
  draft = DraftBy(offer_->plan.policy, FormerDevices());
  return draft ? std::optional(*std::move(draft)) : std::nullopt;
}

Result<Draft> Offering::DraftBy(const Policy& policy, const Inventory& inventory) const {
  const Plan plan = at_.node.PlanFor(resource_, policy);
  TRY(kubelet::MayFit(resource_, inventory.devices, plan));
  auto offer = std::make_shared<Offer>(tessera::Divide(
      resource_, plan, inventory, resource_,
      [this](const Device& device) { return at_.node.TroubleOf(device); }, offer_.get()));
  // A grant may arrive after this point. Withdraw then returns true, and the caller divides again.
  if (offer->limited) Withhold(at_.node.ledger().HeldIds(resource_), *offer);
  kubelet::ListBytes list = TRY(kubelet::SerializeList(*offer));
  return Draft{std::move(offer), std::move(list)};
}

// The devices of the last list that fit, in their current state.
Inventory Offering::FormerDevices() const {
  const DeviceList& former = offer_->devices;
  const Inventory& now = *at_.node.inventory();
  Inventory inventory;
  for (size_t i = 0; i < former.size(); ++i) {
    if (const auto at = now.PositionOf(former[i].key)) {
      inventory.devices.push_back(now.devices.Shared(*at));
    } else {
      Device gone = former[i];
      gone.present = false;
      inventory.devices.push_back(std::move(gone));
    }
  }
  return inventory;
}

void Offering::Refuse(Error error) {
  if (refusal_ != error) {
    log::LogError(published() ? "the former device list stays" : "resource is not served", error,
                  {{"resource", resource_}});
  }
  refusal_ = std::move(error);
}

bool Offering::Withdraw(const Offer& next, Allocator::Snapshot terms) {
  std::optional<Offer> rest = WithoutOthers(*allocator_->offer(), next);
  if (!rest) return false;
  GrantFrom(std::make_shared<Offer>(*std::move(rest)), std::move(terms));
  return true;
}

void Offering::GrantFrom(OfferPtr offer, Allocator::Snapshot terms) {
  terms.offer = std::move(offer);
  allocator_->Set(std::move(terms));
}

void Offering::Publish(Draft draft) {
  offer_ = std::move(draft.offer);
  if (published() && *draft.list == *list_) return;
  list_ = std::move(draft.list);
  at_.metrics.Set(http::Metric::kListBytes, {resource_}, static_cast<double>(list_->size()));
  plugin_->Publish(list_);
}

bool Offering::Compare(int allocatable) {
  if (allocatable > 0) plugin_->Confirm();
  if (offer_->HealthyShares() == 0 || allocatable > 0 || !streaming()) {
    doubted_.reset();
    return true;
  }
  const Steady now = SystemClock().Now();
  if (!doubted_) doubted_ = now;
  if (now - *doubted_ < kDoubt) return false;
  doubted_.reset();
  plugin_->RegisterAgain("kubelet lists none of its healthy devices");
  return true;
}

}  // namespace tessera::agent
