// SPDX-License-Identifier: Apache-2.0
// By what pods are admitted: what the site has configured, and what is known of the cluster. Plain
// data; any thread.
#pragma once

#include <cstdint>
#include <functional>
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

struct Rules {
  const hami::Vendor* vendor = &hami::kNvidia;  // never null
  // Resources, as the site calls them; an empty name is one that it has not.
  RequestRules requests{};
  std::string priority_name{};
  int32_t default_count = 1;  // of a container that says how much, and not of how many; 0: none

  // Pods of these are ours; the first one is given to pods that name none. Never empty.
  std::vector<std::string> schedulers{};
  bool takes_default_scheduler = true;  // "default-scheduler" is none
  std::string runtime_class{};          // of pods that name none; empty: none
  std::string node_label{};             // key of a label that their nodes must have; empty: none
  // How the library in a container holds to its compute time; empty or "default": as it likes.
  std::string core_policy{};
  // Containers that ask for nothing are told that they have no GPU.
  bool hides_devices = false;

  ProtocolGuard guard{};
};

// Of the cluster as it is at one time.
struct ClusterFacts {
  // Nodes whose agents find room for pods that no scheduler has placed.
  std::set<std::string, std::less<>> fitting_unplaced{};
  int64_t largest_memory = 0;  // MiB of one device; 0: not known
  int64_t most_devices = 0;    // of one node; 0: not known
};

// What of a pod is read.
kube::PodFields FieldsOf(const Rules& rules);

}  // namespace tessera::webhook
