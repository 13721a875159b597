// SPDX-License-Identifier: Apache-2.0
// Shares: a resource's policy divides devices into the units that kubelet counts. Pure; plain data;
// any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "device/inventory.h"
#include "health/health.h"

namespace tessera {

// Replicas are used in turn, by whoever comes; MPS runs what several programs want at once and
// holds each to a size; a library within the containers holds virtual GPUs to theirs. All divide
// alike.
enum class Division : uint8_t { kWhole, kReplicas, kMps, kVgpu };
std::string_view DivisionName(Division division);  // "whole", "replicas", "mps", "vgpu"

// What parts a replica's number from its device in an id.
enum class Separator : uint8_t { kColons, kDash };
std::string_view SeparatorName(Separator separator);  // "colons", "dash"

// The number alone is bounded by its type: how many replicas there can be is a matter of their list
// (kubelet/list.h), whose bytes depend on the ids and the number of the devices.
inline constexpr int kMostReplicas = std::numeric_limits<int>::max();

// How a resource divides its devices.
struct Policy {
  Division division = Division::kWhole;
  int replicas = 1;  // ids a device, unless kWhole; from 2 but of kVgpu
  Separator separator = Separator::kColons;
  bool tells_numa = true;  // with the ids: which NUMA nodes their devices are near to
  bool operator==(const Policy&) const = default;
};
std::string PolicyText(
    const Policy& policy);  // "whole", "4 replicas", "4 replicas (dash)", "4 by MPS", "4 vGPUs"

// Share ids by the id of their device.
using IdsByDevice = std::map<std::string, std::set<std::string, NaturalLess>>;

// How the devices of a resource are divided at one time: by the policy, but for those of which a
// share is held that the policy does not make. These have the shares that are held, and no others,
// so that nobody gets a part of what somebody has whole, nor the whole of what somebody has a part
// of.
struct Plan {
  Policy policy = {};
  IdsByDevice kept = {};
  bool operator==(const Plan&) const = default;
};

// The plan that goes as far toward the policy as those who hold these shares allow.
Plan PlanFor(const Policy& policy, std::span<const std::string_view> held);

// One unit kubelet counts: a whole device or one of its replicas. Its id is made from the device's
// id alone, so it stays the same whatever other devices come and go, and leads back to the device
// whatever policy made it. "::" stands in a share's id only before the replica's number: within a
// device's id the second colon is written "%3A", and "%" is written "%25", so that two devices
// never share an id. A dash stands in many ids of devices, so it parts a replica's number, of five
// digits at most, only from an id with a UUID; one that ends in such a number by itself has its
// last dash written "%2D".
struct Share {
  std::string id;       // whole: the device's id; replica n of it: "<id>::<n>" or "<id>-<n>"
  uint32_t device = 0;  // index into Offer::devices
  bool operator==(const Share&) const = default;
};

// Shares in a row that never change, and where each id is among them. A copy is a reference.
class ShareList {
 public:
  ShareList() : ShareList(std::vector<Share>()) {}
  explicit ShareList(std::vector<Share> shares);

  size_t size() const { return body_->shares.size(); }
  const Share& operator[](size_t i) const { return body_->shares[i]; }
  auto begin() const { return body_->shares.begin(); }
  auto end() const { return body_->shares.end(); }
  // Nothing when the id is none of them.
  std::optional<uint32_t> PositionOf(std::string_view id) const;
  const Share* Find(std::string_view id) const;
  // Whether one is a copy of the other.
  bool IsCopyOf(const ShareList& other) const { return body_ == other.body_; }
  bool operator==(const ShareList& other) const { return body_->shares == other.body_->shares; }

 private:
  struct Body {
    std::vector<Share> shares;
    std::vector<uint32_t> slots;  // a hash table of positions: a power of two, at most half taken
  };
  std::shared_ptr<const Body> body_;
};

// All shares of one resource at one generation. Immutable once made; shared between threads as
// std::shared_ptr<const Offer>.
struct Offer {
  std::string resource;
  Plan plan;           // what the shares were made by
  DeviceList devices;  // in natural order of their ids
  ShareList shares;    // device by device, replicas ascending; ids unique
  // For each device that is not healthy, why, for whoever is refused it: the message completes
  // "device 7 is unhealthy: ...".
  std::unordered_map<uint32_t, Error> troubles;  // by device index
  bool limited = false;  // some devices have room for less than all of their shares (withhold.h)
  std::unordered_set<std::string> withheld;  // ids for which their devices have no room now

  // Health is a device's, and that of all its shares but for those that are withheld.
  bool IsHealthy(uint32_t device) const { return troubles.empty() || !troubles.contains(device); }
  bool IsHealthy(const Share& share) const { return IsHealthy(share.device) && !IsWithheld(share); }
  bool IsWithheld(const Share& share) const {
    return !withheld.empty() && withheld.contains(share.id);
  }
  size_t HealthyShares() const;
  // Nothing when none has the id.
  std::optional<uint32_t> PositionOf(std::string_view device) const;
  // Whether the device has only shares that are held, as the plan says.
  bool IsKept(uint32_t device) const {
    return !plan.kept.empty() && plan.kept.contains(devices[device].key.id);
  }
  size_t KeptDevices() const;
};

using OfferPtr = std::shared_ptr<const Offer>;

// Why a device is not offered as healthy; nothing when it is. Its message completes "device 7 is
// unhealthy: ...".
using Trouble = std::function<std::optional<Error>(const Device&)>;

// Divides the devices of `source` by `plan`. `former`, if any, is the offer before: what has not
// changed since is taken from it. Devices that are not healthy are in the offer as
// Unhealthy: a device that may be in use never disappears. A device with a defect or one that
// vanished is unhealthy whatever `trouble` says.
Offer Divide(std::string_view resource, const Plan& plan, const Inventory& inventory,
             std::string_view source, const Trouble& trouble, const Offer* former = nullptr);

// The offer without the shares that `next` does not have, or withholds and the offer does not;
// nothing when there are none.
std::optional<Offer> WithoutOthers(const Offer& offer, const Offer& next);

// The device a share id belongs to: "7::2" -> "7", "7" -> "7", "GPU-<uuid>-2" -> "GPU-<uuid>". For
// ids kubelet still remembers from a former policy as well, so it needs no offer.
std::string DeviceOfShare(std::string_view share_id);
// Which replica of its device it is: "7::2" -> 2; nothing for a whole device.
std::optional<int> ReplicaOfShare(std::string_view share_id);

}  // namespace tessera
