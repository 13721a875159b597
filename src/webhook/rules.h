// SPDX-License-Identifier: Apache-2.0
// By what pods are admitted: what the site has configured, and what is known of the cluster. Plain
// data; any thread.
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

// Who writes what the scheduler and the nodes tell each other by annotations. API servers before
// Kubernetes 1.30 have no policy that keeps others from it (deploy/hami/policy.yaml).
struct ProtocolGuard {
  bool on = false;
  std::vector<std::string> writers{};                            // users
  std::vector<std::string> administrators = {"system:masters"};  // groups
};

// Of the devices of one vendor.
struct DeviceRules {
  const hami::Vendor* vendor = &hami::kNvidia;  // never null
  // Resources, as the site calls them; an empty name is one that it has not.
  RequestRules requests{};
  // Of pods that ask for devices in kModeCore, where those are asked for otherwise.
  std::optional<RequestRules> core_requests{};
  std::string priority_name{};
  int32_t default_count = 1;    // of a container that says how much, and not of how many; 0: none
  std::string runtime_class{};  // of pods that name none; empty: none
  // How the library in a container holds to its compute time; empty or "default": as it likes.
  std::string core_policy{};
  // Containers that ask for nothing are told that they have no device.
  bool hides_devices = false;
};

struct Rules {
  std::vector<DeviceRules> devices = std::vector<DeviceRules>(1);  // never empty

  // Pods of these are ours; the first one is given to pods that name none. Never empty.
  std::vector<std::string> schedulers{};
  bool takes_default_scheduler = true;  // "default-scheduler" is none
  std::string node_label{};             // key of a label that their nodes must have; empty: none

  ProtocolGuard guard{};
};

// What there is most of, of the devices of one vendor; 0: that is not known.
struct MostDevices {
  int64_t memory = 0;   // MiB of one device
  int64_t on_node = 0;  // devices
  bool operator==(const MostDevices&) const = default;
};

// Of the cluster as it is at one time.
struct ClusterFacts {
  // Nodes whose agents find room for pods that no scheduler has placed.
  std::set<std::string, std::less<>> fitting_unplaced{};
  std::vector<MostDevices> most{};  // in the order of Rules::devices; those that are left out: {}

  MostDevices MostOf(size_t kind) const { return kind < most.size() ? most[kind] : MostDevices(); }
};

// What of a pod is read.
kube::PodFields FieldsOf(const Rules& rules);

}  // namespace tessera::webhook
