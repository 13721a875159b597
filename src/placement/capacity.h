// SPDX-License-Identifier: Apache-2.0
// Whether there is room on the devices for one more grant beside what others hold. Pure; plain
// data; one thread at a time.
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

// Of one device.
struct DeviceUsage {
  int64_t containers = 0;
  int64_t memory = 0;   // MiB
  int64_t cores = 0;    // percent
  uint64_t slices = 0;  // one bit each, of a device that is divided in them (slices.h)
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

// What is taken of the devices.
class UsedCapacity {
 public:
  // What a container has, in equal parts its shares' of each device: by these of `all` that the
  // parts are of. What a pod has of a share twice counts once: kubelet gives the shares of an init
  // container to those of its pod that come after it.
  void AddShares(const std::string& pod, const std::vector<std::string>& ids,
                 const std::vector<std::string>& all, std::span<const Fraction> parts);
  // What a pod has of a resource as a whole, beside its shares. Once.
  void AddPod(const std::string& pod, const std::string& resource, UsageByDevice usage);
  bool HasPod(const std::string& pod, const std::string& resource) const {
    return pods_.contains({pod, resource});
  }
  // Something of the device is taken, and nobody can tell how much.
  void AddUnknown(const std::string& device, std::string why);
  // Why that is so; null: it is known.
  const std::string* WhyUnknown(const std::string& device) const;

  // All of it.
  UsageByDevice Sum() const { return Beside("", {}, ""); }
  // But for these shares of the pod, and what it has of the resource as a whole; empty: that counts
  // too.
  UsageByDevice Beside(const std::string& pod, const std::vector<std::string>& ids,
                       const std::string& resource) const;

 private:
  // Of one share: of MiB and of percent. Of a device: of all its shares.
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
  UsageByDevice whole_;                // the sum of pods_
  std::map<std::string, std::string> unknown_;
};

UsageByDevice UsageOf(std::span<const Fraction> parts);

// kNoRoom where one of the devices has not so much more. `asked`: pods say how much, so that there
// are as many containers at a time as the device is for, too, and none where the device's memory is
// not known (kUnreadable); parts that the configuration makes are left alone there.
Status CheckCapacity(const std::string& resource, std::span<const DeviceCapacity> capacities,
                     const UsageByDevice& taken, const UsageByDevice& more, bool asked);

}  // namespace tessera
