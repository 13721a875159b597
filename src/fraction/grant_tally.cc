// SPDX-License-Identifier: Apache-2.0
#include "fraction/grant_tally.h"

#include "placement/placement.h"

namespace tessera {

void GrantTally::Count() {
  auto counted = CountAll();
  if (!counted) return;
  const MutexLock lock(mutex_);
  last_ = *std::move(counted);
}

GrantedByResource GrantTally::last() const {
  const MutexLock lock(mutex_);
  return last_;
}

Result<GrantedByResource> GrantTally::CountAll() {
  if (!store_.any()) return GrantedByResource();
  const HeldGrantsPtr held = TRY(checkpoint_.Read());
  GrantedByResource all;
  std::map<std::string, UsedCapacity> taken;  // by resource
  for (const HeldGrant& grant : held->all()) {
    if (!IsGrantName(grant.name)) continue;
    const auto record = store_.Find(grant.name);
    if (!record || *record == nullptr) continue;
    ++all[grant.resource].containers;
    UsedCapacity& of_resource = taken[grant.resource];
    const PodPlacement& placement = (*record)->placement;
    if (placement.empty()) {
      of_resource.AddShares(grant.pod_uid, grant.ids, grant.ids, (*record)->parts);
    } else if (!of_resource.HasPod(grant.pod_uid, grant.resource)) {
      of_resource.AddPod(grant.pod_uid, grant.resource,
                         UsageOfPlacement(placement, context_->pods.Find(grant.pod_uid).get()));
    }
  }
  for (const auto& [resource, of_resource] : taken) {
    all[resource].by_device = of_resource.Sum();
  }
  return all;
}

}  // namespace tessera
