// SPDX-License-Identifier: Apache-2.0
// A plugin without its wire, for the device manager. Error messages are kubelet's texts, e.g. "rpc
// error: code = Unavailable desc = ...". Any thread; calls block.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace tessera::kubelet::embedded {

// The answer of GetDevicePluginOptions at registration.
struct PluginOptions {
  bool pre_start_required = false;
  bool preferred_allocation = false;
  bool operator==(const PluginOptions&) const = default;
};

// One device of a plugin's list.
struct ListedDevice {
  std::string id;
  bool healthy = false;
  // NUMA nodes; null: the plugin gave no topology, which differs from an empty one.
  std::optional<std::vector<int64_t>> numa;
  bool operator==(const ListedDevice&) const = default;
};

class Endpoint {
 public:
  virtual ~Endpoint() = default;
  // GetPreferredAllocation: the ids of the first container response; empty: there is none.
  virtual Result<std::vector<std::string>> Prefer(std::span<const std::string> available,
                                                  std::span<const std::string> must_include,
                                                  int size) = 0;
  // Allocate for one container: the container responses, serialized.
  virtual Result<std::vector<std::string>> Allocate(std::span<const std::string> ids) = 0;
  virtual Status PreStart(std::span<const std::string> ids) = 0;
};

}  // namespace tessera::kubelet::embedded
