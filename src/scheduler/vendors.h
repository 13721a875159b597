// SPDX-License-Identifier: Apache-2.0
// What the vendors whose devices are placed make of nodes and pods: what a node has registered,
// what a pod asks for, and what a bound one has. A vendor's number is its place here; devices and
// demands carry it (CandidateDevice::kind). Pure; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hami/vendor_table.h"
#include "kube/objects/cluster_node.h"
#include "kube/objects/pod.h"
#include "placement/device_choice.h"
#include "placement/placement.h"
#include "scheduler/node_choice.h"

namespace tessera::scheduler {

struct Policies {
  NodePolicy node = NodePolicy::kBinpack;
  std::string device = "spread";  // names of hami/policies.h
  ScoreWeights weights{};
};

// What a bound pod has.
struct TakenDevices {
  UsageByDevice usage{};
  uint8_t kind = 0;  // of several the first
};

class Vendors {
 public:
  // What they refer to outlives it. The one with an agent, if any, comes first, before no more than
  // VendorTable::kMost others.
  explicit Vendors(std::vector<hami::ServedVendor> served);

  // What of pods and nodes is read.
  const kube::PodFields& pod_fields() const { return pod_fields_; }
  const kube::ClusterNodeFields& node_fields() const { return node_fields_; }

  const hami::ServedVendor& at(uint8_t kind) const { return served_[kind]; }
  // The one whose nodes may have an agent of ours; null: none is served.
  const hami::ServedVendor* with_agent() const;
  bool HasAgent(uint8_t kind) const { return served_[kind].vendor->has_agent; }

  // Those of a kind stand together, in the order of kinds. kInvalid where one cannot be read.
  Result<std::vector<CandidateDevice>> DevicesOf(const kube::ClusterNode& node) const;
  // Devices that kubelet hands out as wholes, of the kind with_agent (whole_devices.h).
  int64_t WholeDevicesOn(const kube::ClusterNode& node) const;

  // Without containers where it asks for nothing of ours. `policies` hold where it says nothing
  // else. kBadSize where it cannot be read what it asks for, or it asks for devices of two vendors.
  Result<DeviceDemand> DemandOf(const kube::Pod& pod, const Policies& policies) const;

  // By what was allocated to it, whatever its node has registered since. Nothing where nobody has
  // chosen devices for it.
  std::optional<Result<TakenDevices>> TakenBy(const kube::Pod& pod) const;

 private:
  std::vector<hami::ServedVendor> served_;
  kube::PodFields pod_fields_;
  kube::ClusterNodeFields node_fields_;
};

}  // namespace tessera::scheduler
