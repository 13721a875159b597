// SPDX-License-Identifier: Apache-2.0
// Reads nodes and pods for all placed vendors: a node's registered devices, a pod's request, a
// bound pod's allocation. A vendor's kind is its index here, and devices and demands carry it
// (CandidateDevice::kind). Pure. One thread.
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

// A bound pod's allocation.
struct TakenDevices {
  UsageByDevice usage{};
  uint8_t kind = 0;  // the first, if there are several
};

class Vendors {
 public:
  // Objects that vendors refer to outlive this. The vendor with an agent, if any, comes first; at
  // most VendorTable::kMost others follow.
  explicit Vendors(std::vector<hami::ServedVendor> served);

  // The parts of pods and nodes that are read.
  const kube::PodFields& pod_fields() const { return pod_fields_; }
  const kube::ClusterNodeFields& node_fields() const { return node_fields_; }

  const hami::ServedVendor& at(uint8_t kind) const { return served_[kind]; }
  // The vendor that may have an agent of ours, or null.
  const hami::ServedVendor* with_agent() const;
  bool HasAgent(uint8_t kind) const { return served_[kind].vendor->has_agent; }

  // Grouped by kind, in the order of kinds. kInvalid if a registration cannot be read.
  Result<std::vector<CandidateDevice>> DevicesOf(const kube::ClusterNode& node) const;
  // Devices that kubelet allocates whole, of the kind with_agent (whole_devices.h).
  int64_t WholeDevicesOn(const kube::ClusterNode& node) const;

  // Empty if the pod requests none of our resources. `policies` apply where the pod sets none.
  // kBadSize if the request is unreadable or for devices of two vendors.
  Result<DeviceDemand> DemandOf(const kube::Pod& pod, const Policies& policies) const;

  // Read from the pod's annotations, independent of the node's current registration. Empty if no
  // devices were chosen for the pod.
  std::optional<Result<TakenDevices>> TakenBy(const kube::Pod& pod) const;

 private:
  std::vector<hami::ServedVendor> served_;
  kube::PodFields pod_fields_;
  kube::ClusterNodeFields node_fields_;
};

}  // namespace tessera::scheduler
