// SPDX-License-Identifier: Apache-2.0
// Checks whether the devices have room for one more grant. Pure. Plain data. One thread at a time.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "grant/fraction.h"
#include "placement/requests.h"

namespace tessera {

// The usage of one device.
struct DeviceUsage {
  int64_t containers = 0;
  int64_t memory = 0;  // MiB
  int64_t cores = 0;   // percent
  // One bit for each slice, of a device that is divided in slices (slices.h).
  uint64_t slices = 0;
  bool operator==(const DeviceUsage&) const = default;

  DeviceUsage& operator+=(const DeviceUsage& more) {
    containers += more.containers;
    memory += more.memory;
    cores += more.cores;
    slices |= more.slices;
    return *this;
  }
};
using UsageByDevice = std::map<std::string, DeviceUsage>;

// The used capacity of a node's devices.
class UsedCapacity {
 public:
  // Adds a container's shares `ids`. Each device's part is divided equally among the shares of that
  // device in `all`. A share that a pod holds twice counts once, because kubelet reuses an init
  // container's shares for later containers of the pod.
  void AddShares(const std::string& pod, const std::vector<std::string>& ids,
                 const std::vector<std::string>& all, std::span<const Fraction> parts);
  // Adds a pod's usage of a resource apart from shares. A second call for the same pod and resource
  // must not occur.
  void AddPod(const std::string& pod, const std::string& resource, UsageByDevice usage);
  bool HasPod(const std::string& pod, const std::string& resource) const {
    return pods_.contains({pod, resource});
  }
  // What AddPod added; null: nothing.
  const UsageByDevice* OfPod(const std::string& pod, const std::string& resource) const {
    const auto found = pods_.find({pod, resource});
    return found == pods_.end() ? nullptr : &found->second;
  }
  // Marks a device as used to an unknown extent.
  void AddUnknown(const std::string& device, std::string why);
  // The reason, or null if the device's usage is known.
  const std::string* WhyUnknown(const std::string& device) const;

  // The total usage.
  UsageByDevice Sum() const { return Beside("", {}, ""); }
  // The total without these shares of the pod and without its usage of the resource. An empty
  // resource excludes only the shares.
  UsageByDevice Beside(const std::string& pod, const std::vector<std::string>& ids,
                       const std::string& resource) const;

 private:
  // One share's memory in MiB and cores in percent, or a device's sums over its shares.
  struct Worth {
    std::string device{};
    double memory = 0;
    double cores = 0;
    int64_t shares = 1;
  };
  using Key = std::pair<std::string, std::string>;
  std::map<Key, Worth> shares_;        // by pod and id
  std::map<std::string, Worth> sums_;  // of shares_, by device
  std::map<Key, UsageByDevice> pods_;  // by pod and resource
  UsageByDevice whole_;                // sum of pods_
  std::map<std::string, std::string> unknown_;
};

UsageByDevice UsageOf(std::span<const Fraction> parts);

// kNoRoom if a device lacks room for `more`. With `asked`, pods give the sizes: then the device's
// container limit counts too, and a device of unknown memory fails with kUnreadable. Without
// `asked`, the configuration makes the parts, and neither is checked.
Status CheckCapacity(const std::string& resource, std::span<const DeviceCapacity> capacities,
                     const UsageByDevice& taken, const UsageByDevice& more, bool asked);

}  // namespace tessera
