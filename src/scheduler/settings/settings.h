// SPDX-License-Identifier: Apache-2.0
// A site's scheduler settings. Names, meanings and defaults shared with HAMi's scheduler are those
// of HAMi 2.10 and its Helm chart (https://github.com/Project-HAMi/HAMi). Plain data. Any thread.
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
  int64_t verbosity = 0;  // HAMi's; from 5 on, the level is debug

  // Listening addresses. The extender's is for the pod's own kube-scheduler: any client of it can
  // bind pods.
  std::string extender_address = "127.0.0.1:9444";
  std::string status_address = ":9395";
  std::string webhook_address = ":9443";
  // The webhook's. Empty: made in process.
  std::string certificate_file{};
  std::string key_file{};
  // The webhook takes pods that request our resources and name no scheduler, or default-scheduler.
  bool takes_default_scheduler = true;
  std::string node_label{};  // key of a label required of such pods' nodes; empty: none
  // When the webhook guards the annotations by which scheduler and nodes communicate: auto, always,
  // never. Only these users may write them. From Kubernetes 1.30 on, deploy/hami/policy.yaml guards
  // the same annotations.
  std::string guard = "auto";
  std::vector<std::string> protocol_writers = {
      "system:serviceaccount:kube-system:hami-scheduler",
      "system:serviceaccount:kube-system:tessera-scheduler",
      "system:serviceaccount:kube-system:tessera-hami",
      "system:serviceaccount:kube-system:hami-device-plugin"};
  std::vector<std::string> administrators = {"system:masters"};

  // Scheduler names of our pods. The webhook writes the first into pods without one.
  std::vector<std::string> scheduler_names = {"hami-scheduler"};
  // The Lease of the kube-scheduler in the same pod; its holder leads. Without a namespace there is
  // no Lease, as a scheduler outside a cluster runs alone.
  bool uses_lease = true;
  std::string lease_namespace{};
  std::string lease_name{};  // never empty after loading

  // Labels that a node needs for its devices to count: "gpu=on". Empty: every node.
  std::vector<std::string> node_labels{};
  // HAMi's node lock, for nodes with a device plugin that needs it.
  Duration lock_timeout = std::chrono::minutes(5);  // an older one is broken
  Duration lock_patience = std::chrono::seconds(28);

  // Policies and weights for pods that set none.
  std::string node_policy = "binpack";
  std::vector<std::string> device_policies = {"spread"};  // by weight
  int64_t slot_weight = 1;
  int64_t core_weight = 1;
  int64_t memory_weight = 1;

  // Vendors that are placed: "nvidia", and members of hami::kFamilies.
  std::vector<std::string> vendors = {"nvidia"};
  bool Places(std::string_view vendor) const { return std::ranges::count(vendors, vendor) > 0; }
  // Vendors other than NVIDIA, from HAMi's file or chart. Empty until loaded.
  std::vector<hami::VendorConfig> others{};

  // NVIDIA's resource names, and the amounts for containers that omit them.
  std::string count_name = "nvidia.com/gpu";
  std::string memory_name = "nvidia.com/gpumem";
  std::string percentage_name = "nvidia.com/gpumem-percentage";
  std::string cores_name = "nvidia.com/gpucores";
  std::string priority_name = "nvidia.com/priority";
  int64_t default_count = 1;
  int64_t default_memory = 0;  // MiB; 0: all of the GPU
  int64_t default_cores = 0;   // percent; 0: no limit
  // MiB for each requested unit; at least 1 after loading.
  int64_t memory_factor = 1;
  // Runtime class for pods with GPUs. Empty: unchanged.
  std::string runtime_class{};
  std::string core_policy = "default";  // default, force, disable
  bool hides_devices = false;           // from containers that request none

  bool operator==(const Settings&) const = default;
};

}  // namespace tessera::scheduler
