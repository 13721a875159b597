// SPDX-License-Identifier: Apache-2.0
#include "agent/grant_tally.h"

#include <set>

#include "agent/pod_decision.h"
#include "grant/grant.h"
#include "kubelet/checkpoint.h"
#include "os/files.h"

namespace tessera::agent {

void GrantTally::Count() {
  auto counted = CountAll();
  if (!counted) return;
  std::lock_guard lock(mutex_);
  last_ = *std::move(counted);
}

GrantedByResource GrantTally::last() const {
  std::lock_guard lock(mutex_);
  return last_;
}

Result<GrantedByResource> GrantTally::CountAll() {
  if (!pins_.any()) return GrantedByResource();
  const std::string text = TRY(os::ReadFile(checkpoint_));
  const kubelet::Checkpoint checkpoint = TRY(kubelet::ParseCheckpoint(text));
  GrantedByResource all;
  std::map<std::string, Taken> taken;                   // by resource
  std::set<std::pair<std::string, std::string>> whole;  // pods by UID, and the resource
  for (const kubelet::CheckpointEntry& entry : checkpoint.entries) {
    const Grant grant = entry.grant();
    const auto name = grant.annotations.find(kGrantAnnotation);
    if (name == grant.annotations.end() || !IsGrantName(name->second)) continue;
    const auto pin = pins_.Find(name->second);
    if (!pin || !*pin) continue;
    ++all[entry.resource].containers;
    Taken& of_resource = taken[entry.resource];
    const Decision& decision = (*pin)->decision;
    if (decision.empty()) {
      of_resource.AddShares(entry.pod_uid, entry.ids(), (*pin)->parts);
    } else if (whole.emplace(entry.pod_uid, entry.resource).second) {
      of_resource.Add(UsageOf(decision, book_->Find(entry.pod_uid).get()));
    }
  }
  for (const auto& [resource, of_resource] : taken) all[resource].by_device = of_resource.Sum();
  return all;
}

}  // namespace tessera::agent
