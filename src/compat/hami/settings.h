// SPDX-License-Identifier: Apache-2.0
// A site's HAMi settings for NVIDIA's GPUs, besides those of NVIDIA's device plugin. Names,
// meanings and defaults (the Helm chart's) are those of HAMi 2.10
// (https://github.com/Project-HAMi/HAMi). Plain data; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::config::hami {

struct Settings {
  // Resources.
  std::string count_name = "nvidia.com/gpu";
  std::string memory_name = "nvidia.com/gpumem";
  std::string percentage_name = "nvidia.com/gpumem-percentage";
  std::string cores_name = "nvidia.com/gpucores";
  int64_t default_memory = 0;  // MB; 0: all
  int64_t default_cores = 0;   // percent
  int64_t memory_factor = 1;   // 0 counts as 1

  // The node's settings.
  std::string node_name{};
  int64_t split_count = 10;
  double memory_scaling = 1;
  double core_scaling = 1;
  int64_t preconfigured_memory = 0;  // MB
  std::string log_level = "1";
  bool numa_topology = false;
  bool disable_core_limit = false;
  std::string core_policy = "default";  // default, force, disable
  std::string operating_mode = "hami-core";
  std::vector<std::string> filtered_uuids{};
  std::vector<int64_t> filtered_indices{};

  // The plugin's settings.
  std::string hook_path = "/usr/local";
  std::string topology_score{};  // "true"
  std::string kubeconfig{};
  std::string home{};  // the home directory, for a kubeconfig if none is named
  int64_t verbosity = 0;
  bool operator==(const Settings&) const = default;
};

}  // namespace tessera::config::hami
