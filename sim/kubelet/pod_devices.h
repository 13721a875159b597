// SPDX-License-Identifier: Apache-2.0
// Which container holds which devices of each resource, as in kubelet's checkpoint. Pure
// bookkeeping; its owner guards it.
#pragma once

#include <compare>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kubelet/checkpoint.h"

namespace tessera::kubelet::embedded {

using Ids = std::set<std::string>;

// A container's claim on a resource.
struct Claim {
  std::string pod_uid;
  std::string container;
  std::string resource;
  auto operator<=>(const Claim&) const = default;
};

class PodDevices {
 public:
  void Put(CheckpointEntry entry);
  // nullptr: no devices were allocated for the claim.
  const CheckpointEntry* Find(const Claim& claim) const;
  // The entries of one pod, by container and resource.
  std::vector<const CheckpointEntry*> Of(const std::string& pod_uid) const;
  Ids Pods() const;
  void Remove(const std::string& pod_uid);
  // resource -> held ids.
  std::map<std::string, Ids> InUse() const;
  std::vector<CheckpointEntry> Entries() const;

 private:
  std::map<Claim, CheckpointEntry> entries_;
};

}  // namespace tessera::kubelet::embedded
