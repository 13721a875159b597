// SPDX-License-Identifier: Apache-2.0
// What a site tells the scheduler. Names, meanings and defaults of what HAMi's scheduler has too
// are those of HAMi 2.10 and its Helm chart (https://github.com/Project-HAMi/HAMi). Plain data; any
// thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "hami/vendor_table.h"

namespace tessera::scheduler {

struct Settings {
  std::string kubeconfig{};  // empty: the pod's service account
  std::string log_level = "info";
  std::string log_format = "text";
  int64_t verbosity = 0;  // HAMi's: 5 and more is the level debug

  // Where it listens. The first is for the pod's own kube-scheduler: whoever reaches it binds pods.
  std::string extender_address = "127.0.0.1:9444";
  std::string status_address = ":9395";
  std::string webhook_address = ":9443";
  // Of the webhook; empty: made in process.
  std::string certificate_file{};
  std::string key_file{};
  // The webhook makes pods of ours that have no scheduler's name, or default-scheduler's.
  bool takes_default_scheduler = true;
  std::string node_label{};  // key of a label that nodes of such pods must have; empty: none
  // Whether the webhook lets nobody but these forge what scheduler and nodes tell each other: auto,
  // always, never. They are those of deploy/hami/policy.yaml, which does so from Kubernetes 1.30
  // on.
  std::string guard = "auto";
  std::vector<std::string> protocol_writers = {
      "system:serviceaccount:kube-system:hami-scheduler",
      "system:serviceaccount:kube-system:tessera-scheduler",
      "system:serviceaccount:kube-system:tessera-hami",
      "system:serviceaccount:kube-system:hami-device-plugin"};
  std::vector<std::string> administrators = {"system:masters"};

  // Whose pods are ours; the first is written into pods that name none.
  std::vector<std::string> scheduler_names = {"hami-scheduler"};
  // The Lease of the kube-scheduler in the same pod, whose holder leads. Without a namespace there
  // is none to be followed: a scheduler out of a cluster is alone.
  bool uses_lease = true;
  std::string lease_namespace{};
  std::string lease_name{};  // never empty once it is loaded

  // Labels that a node must have for its devices to count, "gpu=on". Empty: every node.
  std::vector<std::string> node_labels{};
  // The lock of a node whose device plugin needs it.
  Duration lock_timeout = std::chrono::minutes(5);  // an older one is broken
  Duration lock_patience = std::chrono::seconds(28);

  // Where a pod says nothing else.
  std::string node_policy = "binpack";
  std::vector<std::string> device_policies = {"spread"};  // in the order of their weight
  int64_t slot_weight = 1;
  int64_t core_weight = 1;
  int64_t memory_weight = 1;

  // Whose devices are placed: "nvidia", and of hami::kFamilies.
  std::vector<std::string> vendors = {"nvidia"};
  bool Places(std::string_view vendor) const { return std::ranges::count(vendors, vendor) > 0; }
  // Those besides NVIDIA, as HAMi's file or its chart has them; none until it is loaded.
  std::vector<hami::VendorConfig> others{};

  // NVIDIA's GPUs: the resources, and what holds where a container leaves something out.
  std::string count_name = "nvidia.com/gpu";
  std::string memory_name = "nvidia.com/gpumem";
  std::string percentage_name = "nvidia.com/gpumem-percentage";
  std::string cores_name = "nvidia.com/gpucores";
  std::string priority_name = "nvidia.com/priority";
  int64_t default_count = 1;
  int64_t default_memory = 0;  // MiB; 0: all of the GPU
  int64_t default_cores = 0;   // percent; 0: no limit
  int64_t memory_factor = 1;   // MiB that a request for one counts; never 0 once it is loaded
  // Of pods with GPUs; empty: as they are.
  std::string runtime_class{};
  std::string core_policy = "default";  // default, force, disable
  bool hides_devices = false;           // from containers that ask for none

  bool operator==(const Settings&) const = default;
};

}  // namespace tessera::scheduler
