// SPDX-License-Identifier: Apache-2.0
// The rules of admission: the site's configuration, and facts of the cluster. Plain data. Any
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hami/vendor.h"
#include "kube/objects/pod.h"
#include "placement/requests.h"

namespace tessera::webhook {

// Users who may write the annotations by which scheduler and nodes communicate. API servers before
// Kubernetes 1.30 have no policy for this (deploy/hami/policy.yaml).
struct ProtocolGuard {
  bool on = false;
  std::vector<std::string> writers{};                            // users
  std::vector<std::string> administrators = {"system:masters"};  // groups
};

// Rules for one vendor's devices.
struct DeviceRules {
  const hami::Vendor* vendor = &hami::kNvidia;  // never null
  // The site's resource names. An empty name is a resource that the site does not have.
  RequestRules requests{};
  // For pods in kModeCore, if their resource names differ.
  std::optional<RequestRules> core_requests{};
  std::string priority_name{};
  // Devices for a container with an amount but no count. 0: none.
  int32_t default_count = 1;
  std::string runtime_class{};  // for pods without one; empty: none
  // How the limiter enforces compute time. Empty or "default": the limiter's default.
  std::string core_policy{};
  // Containers without devices get a variable that hides all devices.
  bool hides_devices = false;
};

struct Rules {
  std::vector<DeviceRules> devices = std::vector<DeviceRules>(1);  // never empty

  // Scheduler names of our pods. The first is written into pods without one. Never empty.
  std::vector<std::string> schedulers{};
  // A pod with "default-scheduler" counts as one without a scheduler.
  bool takes_default_scheduler = true;
  // Key of a label that the pods' nodes must have. Empty: none.
  std::string node_label{};

  ProtocolGuard guard{};
};

// The largest amounts of one vendor's devices in the cluster. 0: unknown.
struct MostDevices {
  int64_t memory = 0;   // MiB of one device
  int64_t on_node = 0;  // devices
  bool operator==(const MostDevices&) const = default;
};

// The cluster at one moment.
struct ClusterFacts {
  // Nodes with agents that place unscheduled pods themselves.
  std::set<std::string, std::less<>> fitting_unplaced{};
  std::vector<MostDevices> most{};  // by Rules::devices; may be shorter

  MostDevices MostOf(size_t kind) const { return kind < most.size() ? most[kind] : MostDevices(); }
};

// The parts of a pod that are read.
kube::PodFields FieldsOf(const Rules& rules);

}  // namespace tessera::webhook
