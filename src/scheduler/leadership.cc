// SPDX-License-Identifier: Apache-2.0
#include "scheduler/leadership.h"

#include <utility>

#include "base/log.h"
#include "kube/objects/lease.h"

namespace tessera::scheduler {

Leadership::Leadership(os::Loop& loop, const Clock& clock, kube::Client& client, LeaseName lease,
                       std::function<void()> took_over)
    : clock_(clock), lease_(std::move(lease)), took_over_(std::move(took_over)) {
  if (lease_.name.empty()) return;
  watch_.emplace(loop, client, kube::LeasesPath(lease_.lease_namespace), lease_.name,
                 kube::LeaseForm(), [this](const json::Value* object) { Seen(object); });
}

void Leadership::Seen(const json::Value* object) {
  const auto lease = object == nullptr ? Result<kube::Lease>() : kube::ReadLease(*object);
  if (!lease) log::Warn("this replica cannot lead: the Lease cannot be read", lease.error());
  const std::string holder = lease ? lease->holder : "";
  seen_ = clock_.Now();
  valid_ = lease ? lease->duration : Duration(0);
  if (std::exchange(known_, true) && holder == holder_) return;
  const bool led = kube::IsOfHost(holder_, lease_.host);
  holder_ = holder;
  log::Info("the Lease has a new holder", {{"lease", lease_.name}, {"by", holder}});
  if (!led && Leads()) took_over_();
}

Status Leadership::Leads() const {
  if (lease_.name.empty()) return {};
  if (kube::IsOfHost(holder_, lease_.host)) {
    if (clock_.Now() - seen_ <= valid_) return {};
    return Fail(Reason::kUnavailable,
                "the kube-scheduler of this pod did not renew the Lease {}/{} in time, as last "
                "seen at the API server",
                lease_.lease_namespace, lease_.name);
  }
  if (!known_) {
    return Fail(Reason::kUnavailable, "the Lease {}/{} is still being read", lease_.lease_namespace,
                lease_.name);
  }
  return Fail(Reason::kUnavailable,
              "the kube-scheduler of this pod does not lead: the Lease "
              "{}/{} is held by {}",
              lease_.lease_namespace, lease_.name, holder_.empty() ? "no replica" : holder_);
}

}  // namespace tessera::scheduler
