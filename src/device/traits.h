// SPDX-License-Identifier: Apache-2.0
// Traits: properties that only some kinds give their devices. A node may have 60,000 devices
// without traits; each then costs one null pointer. Plain data; any thread.
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

// Values by name.
using DeviceVariables = std::map<std::string, std::string>;
// Appends a value to a container's variable, behind a comma. An empty value keeps its place. Two
// objects of JSON, "{...}", become one with the members of both.
void JoinVariable(const std::string& name, const std::string& value, DeviceVariables& joined);

struct DeviceTraits {
  // The path on the PCI bus, the root complex first: "pci0000:40/0000:40:01.0/0000:47:00.0". Empty:
  // unknown, or not on the bus.
  std::string pci_path{};
  std::optional<int> iommu_group{};
  // Variables besides the visible-devices variable. By environment a container gets the values of
  // all its devices, in their order (JoinVariable). A CDI document has NAME_ID of each device.
  DeviceVariables variables{};
  // Capacities besides memory, by names of the kind: {"cores", 24}.
  std::map<std::string, int64_t> capacities{};
  // The memory is the parent's, and the parent's other parts share it.
  bool shares_memory = false;
  // How many shares can be had at present, if fewer than the resource divides the device into.
  // Granted shares stay, and the device's health does not change.
  std::optional<int> shares{};
  // Hardware that only one container may have at a time, by names that all sources use. While a
  // container may have this device, no device that takes any of it is granted.
  std::vector<std::string> takes{};
  // Devices of one source with the same bundle go together: a container gets all of them or none.
  std::string bundle{};
  // The devices of other sources that this one is made of (compose.h). It is out while one of them
  // is. A part whose name this device takes is taken by the part as well.
  std::vector<DeviceKey> parts{};
  bool operator==(const DeviceTraits&) const = default;
};

// A device's traits: reads like a pointer that is never null, and compares by value.
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
  std::shared_ptr<const DeviceTraits> body_;  // null: no traits
};

}  // namespace tessera
