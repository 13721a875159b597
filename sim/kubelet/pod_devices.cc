// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/pod_devices.h"

namespace tessera::kubelet::embedded {

void PodDevices::Put(CheckpointEntry entry) {
  Claim claim{entry.pod_uid, entry.container, entry.resource};
  entries_[claim] = std::move(entry);
}

const CheckpointEntry* PodDevices::Find(const Claim& claim) const {
  auto found = entries_.find(claim);
  return found == entries_.end() ? nullptr : &found->second;
}

std::vector<const CheckpointEntry*> PodDevices::Of(const std::string& pod_uid) const {
  std::vector<const CheckpointEntry*> entries;
  for (auto at = entries_.lower_bound({pod_uid, "", ""});
       at != entries_.end() && at->first.pod_uid == pod_uid; ++at) {
    entries.push_back(&at->second);
  }
  return entries;
}

Ids PodDevices::Pods() const {
  Ids uids;
  for (const auto& [claim, entry] : entries_) uids.insert(claim.pod_uid);
  return uids;
}

void PodDevices::Remove(const std::string& pod_uid) {
  std::erase_if(entries_, [&](const auto& item) { return item.first.pod_uid == pod_uid; });
}

std::map<std::string, Ids> PodDevices::InUse() const {
  std::map<std::string, Ids> in_use;
  for (const auto& [claim, entry] : entries_) {
    for (const auto& [numa, ids] : entry.ids_by_numa) {
      in_use[claim.resource].insert(ids.begin(), ids.end());
    }
  }
  return in_use;
}

std::vector<CheckpointEntry> PodDevices::Entries() const {
  std::vector<CheckpointEntry> all;
  all.reserve(entries_.size());
  for (const auto& [claim, entry] : entries_) all.push_back(entry);
  return all;
}

}  // namespace tessera::kubelet::embedded
