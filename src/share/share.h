// SPDX-License-Identifier: Apache-2.0
// Shares, the units that kubelet counts: a resource's policy divides devices into them. Pure; plain
// data; any thread.
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

// How containers share a device. Replicas have no limits: the driver gives containers time slices.
// With MPS their programs run at the same time, each within a size. A library in the containers
// limits virtual GPUs. All three make ids in the same way.
enum class Division : uint8_t { kWhole, kReplicas, kMps, kVgpu };
std::string_view DivisionName(Division division);  // "whole", "replicas", "mps", "vgpu"

// The text between a device's id and a replica's number.
enum class Separator : uint8_t { kColons, kDash };
std::string_view SeparatorName(Separator separator);  // "colons", "dash"

// Only the type limits this number. The practical limit is the size of the list (kubelet/list.h),
// which depends on the ids and the number of devices.
inline constexpr int kMostReplicas = std::numeric_limits<int>::max();

// How a resource divides its devices.
struct Policy {
  Division division = Division::kWhole;
  int replicas = 1;  // ids per device, unless kWhole; at least 2, or 1 for kVgpu
  Separator separator = Separator::kColons;
  bool tells_numa = true;  // the list gives each device's NUMA nodes
  bool operator==(const Policy&) const = default;
};
std::string PolicyText(
    const Policy& policy);  // "whole", "4 replicas", "4 replicas (dash)", "4 by MPS", "4 vGPUs"

// Share ids by the id of their device.
using IdsByDevice = std::map<std::string, std::set<std::string, NaturalLess>>;

// Whether one of these shares is a whole device.
bool AnyWhole(const std::set<std::string, NaturalLess>& ids);

// How the devices of a resource are divided at one time. The policy divides them, except devices
// with a held share that the policy does not make. These keep their held shares, maybe none of
// their own, and get no others. So a whole device and its parts are never granted at once.
struct Plan {
  Policy policy = {};
  IdsByDevice kept = {};
  bool operator==(const Plan&) const = default;
};

// The plan for the policy, as far as these held shares allow. `kept`: devices that get no other
// shares than these, although the policy makes all that are held.
Plan PlanFor(const Policy& policy, std::span<const std::string_view> held,
             std::span<const std::string> kept = {});

// One unit that kubelet counts: a whole device or one of its replicas. Its id depends on the
// device's id alone. So it does not change with other devices, and leads back to its device under
// every policy.
//
// Two devices never have the same share id. In a share's id, "::" stands only before the replica's
// number: in a device's id the second colon becomes "%3A", and "%" becomes "%25". Many devices' ids
// contain dashes. So a dash separates a replica's number, of at most five digits, only after an id
// with a UUID. If such an id itself ends in a dash and a number, that dash becomes "%2D".
struct Share {
  std::string id;       // whole: the device's id; replica n of it: "<id>::<n>" or "<id>-<n>"
  uint32_t device = 0;  // index into Offer::devices
  bool operator==(const Share&) const = default;
};

// An immutable list of shares with an index by id. A copy shares the list.
class ShareList {
 public:
  ShareList() : ShareList(std::vector<Share>()) {}
  explicit ShareList(std::vector<Share> shares);

  size_t size() const { return body_->shares.size(); }
  const Share& operator[](size_t i) const { return body_->shares[i]; }
  auto begin() const { return body_->shares.begin(); }
  auto end() const { return body_->shares.end(); }
  // Nothing if no share has the id.
  std::optional<uint32_t> PositionOf(std::string_view id) const;
  const Share* Find(std::string_view id) const;
  // True if one is a copy of the other.
  bool IsCopyOf(const ShareList& other) const { return body_ == other.body_; }
  bool operator==(const ShareList& other) const { return body_->shares == other.body_->shares; }

 private:
  struct Body {
    std::vector<Share> shares;
    std::vector<uint32_t> slots;  // hash table of positions; a power of two, at most half full
  };
  std::shared_ptr<const Body> body_;
};

// All shares of one resource at one generation. Immutable once made. Threads share it as
// std::shared_ptr<const Offer>.
struct Offer {
  std::string resource;
  Plan plan;           // the plan of these shares
  DeviceList devices;  // in natural order of their ids
  ShareList shares;    // device by device, replicas ascending; ids unique
  // Why a device is not healthy. A refused pod reads it: the message completes "device 7 is
  // unhealthy: ...".
  std::unordered_map<uint32_t, Error> troubles;  // by device index
  bool limited = false;  // some devices lack room for all of their shares (withhold.h)
  std::unordered_set<std::string> withheld;  // ids without room on their device now

  // A share has the health of its device, unless it is withheld.
  bool IsHealthy(uint32_t device) const { return troubles.empty() || !troubles.contains(device); }
  bool IsHealthy(const Share& share) const { return IsHealthy(share.device) && !IsWithheld(share); }
  bool IsWithheld(const Share& share) const {
    return !withheld.empty() && withheld.contains(share.id);
  }
  size_t HealthyShares() const;
  // Nothing if no device has the id.
  std::optional<uint32_t> PositionOf(std::string_view device) const;
  // True if the plan keeps the device's held shares and no others.
  bool IsKept(uint32_t device) const {
    return !plan.kept.empty() && plan.kept.contains(devices[device].key.id);
  }
  // True if a container holds the device whole, and the policy divides it.
  bool IsHeldWhole(uint32_t device) const;
  size_t KeptDevices() const;
};

using OfferPtr = std::shared_ptr<const Offer>;

// Why a device is not offered as healthy; nothing: it is. The message completes "device 7 is
// unhealthy: ...".
using Trouble = std::function<std::optional<Error>(const Device&)>;

// Divides the devices of `source` by `plan`. `former`: the previous offer or null; unchanged shares
// are reused. Devices that are not healthy stay in the offer as Unhealthy, because a container may
// use them. A device with a defect, or one that vanished, is unhealthy even if `trouble` has no
// error.
Offer Divide(std::string_view resource, const Plan& plan, const Inventory& inventory,
             std::string_view source, const Trouble& trouble, const Offer* former = nullptr);

// The offer without the shares that `next` lacks or newly withholds. Nothing if there is no such
// share.
std::optional<Offer> WithoutOthers(const Offer& offer, const Offer& next);

// The device of a share id: "7::2" -> "7", "7" -> "7", "GPU-<uuid>-2" -> "GPU-<uuid>". Needs no
// offer, because kubelet may remember ids of a former policy.
std::string DeviceOfShare(std::string_view share_id);
// The replica's number: "7::2" -> 2; nothing for a whole device.
std::optional<int> ReplicaOfShare(std::string_view share_id);

}  // namespace tessera
