// SPDX-License-Identifier: Apache-2.0
// The settings of NVIDIA's device plugin, in its own terms: config file v1, flags and environment
// variables together. Names, defaults and meanings are those of k8s-device-plugin 0.20
// (https://github.com/NVIDIA/k8s-device-plugin). Plain data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace tessera::config::nvidia {

// The resource of GPUs or MIG profiles that match a pattern.
struct NamedPattern {
  std::string pattern{};
  std::string name{};  // with its prefix: "nvidia.com/gpu"
  bool operator==(const NamedPattern&) const = default;
};

// The replicated devices of a resource: all, the first `count`, or a list.
struct ReplicatedDevices {
  bool all = true;
  int64_t count = 0;                // 0: not by count
  std::vector<std::string> list{};  // "0", "0:1", "GPU-<uuid>", "MIG-<uuid>", ...
  bool operator==(const ReplicatedDevices&) const = default;
};

struct ReplicatedResource {
  std::string name{};    // with its prefix
  std::string rename{};  // with its prefix; empty: the name stays
  ReplicatedDevices devices{};
  int64_t replicas = 0;  // at least 2
  bool operator==(const ReplicatedResource&) const = default;
};

struct Replication {
  bool rename_by_default = false;
  std::optional<bool> fail_requests_greater_than_one{};
  std::vector<ReplicatedResource> resources{};  // at least one
  bool operator==(const Replication&) const = default;
};

struct Settings {
  std::string mig_strategy = "none";
  bool fail_on_init_error = true;
  std::string driver_root = "/";  // on the host
  std::string dev_root{};         // on the host; empty: driver_root
  std::string mps_root{};
  bool gdrcopy = false;
  bool gds = false;
  bool mofed = false;
  std::string discovery_strategy = "auto";

  bool pass_device_specs = false;
  std::vector<std::string> list_strategies = {"envvar"};
  std::string id_strategy = "uuid";
  std::string cdi_annotation_prefix = "cdi.k8s.io/";
  std::string cdi_hook_path = "/usr/bin/nvidia-ctk";
  std::string container_driver_root = "/driver-root";  // driver_root, as the plugin sees it
  std::string allocation_policy = "distributed";

  // The two variables about health checks: lists of XIDs.
  std::string disabled_xids{};
  std::string enabled_xids{};

  std::vector<int64_t> imex_channels{};
  bool imex_required = false;

  std::string kubelet_socket = "/var/lib/kubelet/device-plugins/kubelet.sock";
  std::string config_file{};  // empty: none
  std::vector<std::string> cdi_feature_flags{};
  std::vector<std::string> cdi_disable_hooks{};

  // Settings of GPU feature discovery, which reads the same file.
  bool gfd_oneshot = false;
  bool gfd_no_timestamp = false;
  Duration gfd_sleep_interval{60'000};
  std::string gfd_output_file = "/etc/kubernetes/node-feature-discovery/features.d/gfd";
  std::string gfd_machine_type_file = "/sys/class/dmi/id/product_name";
  bool use_node_feature_api = true;
  std::string kubeconfig{};
  std::string passed_over{};  // for options without an effect here

  std::vector<NamedPattern> gpus{};
  std::vector<NamedPattern> migs{};
  std::optional<Replication> time_slicing{};
  std::optional<Replication> mps{};
  bool operator==(const Settings&) const = default;
};

}  // namespace tessera::config::nvidia
