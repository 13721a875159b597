// SPDX-License-Identifier: Apache-2.0
// What only some kinds know of their devices. There may be 60,000 devices with none of it: each
// then costs one empty shared_ptr. Plain data; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/device_key.h"

namespace tessera {

// By name.
using DeviceVariables = std::map<std::string, std::string>;
// One more value of a container's variable, behind a comma. Several may be empty, and each has its
// place.
void JoinVariable(const std::string& name, const std::string& value, DeviceVariables& joined);

struct DeviceTraits {
  // Its way on the PCI bus, the root complex first: "pci0000:40/0000:40:01.0/0000:47:00.0"; empty:
  // not known, or it is on none.
  std::string pci_path{};
  std::optional<int> iommu_group{};
  // Besides the visible-devices variable. By environment a container's has the values of all its
  // devices in their order (JoinVariable); a CDI document has NAME_ID of each.
  DeviceVariables variables{};
  // What it has besides memory, by names of its kind: {"cores", 24}.
  std::map<std::string, int64_t> capacities{};
  // Its memory is that of its parent, of which other parts of that have the same.
  bool shares_memory = false;
  // So many of its shares can be had now, where that is less than its resource divides it into:
  // what is granted stays, and the device is no sicker for it.
  std::optional<int> shares{};
  // Hardware that it has to itself, by names that all sources give it alike: while a container may
  // have the device, none is given another that takes any of it.
  std::vector<std::string> takes{};
  // Devices of its source with the same one go together: a container is given all of them, or none.
  std::string bundle{};
  // Devices of other sources that it is made of (compose.h): it is out while one of them is.
  std::vector<DeviceKey> parts{};
  bool operator==(const DeviceTraits&) const = default;
};

// A device's traits: read like a pointer that is never null, compared by what they are.
class TraitsOf {
 public:
  TraitsOf() = default;
  TraitsOf(DeviceTraits traits) {  // NOLINT(google-explicit-constructor): a device is given traits
    if (traits != DeviceTraits()) body_ = std::make_shared<const DeviceTraits>(std::move(traits));
  }

  bool empty() const { return body_ == nullptr; }
  const DeviceTraits& operator*() const {
    static const DeviceTraits kNone;
    return empty() ? kNone : *body_;
  }
  const DeviceTraits* operator->() const { return &**this; }
  bool operator==(const TraitsOf& other) const { return body_ == other.body_ || **this == *other; }

 private:
  std::shared_ptr<const DeviceTraits> body_;  // null: there are none
};

}  // namespace tessera
