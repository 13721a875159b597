// SPDX-License-Identifier: Apache-2.0
// The inventory: an immutable snapshot of the node's devices. Nothing edits one; a scan that found
// something else makes the next, with the next generation. Shared between threads as
// std::shared_ptr<const Inventory>, which is never null; the first one is an empty Inventory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "device/device_list.h"

namespace tessera {

struct Inventory {
  uint64_t generation = 0;
  DeviceList devices;  // ordered by DeviceKeyLess, keys unique

  const Device* Find(const DeviceKey& key) const;
  std::optional<size_t> PositionOf(const DeviceKey& key) const;
};

using InventoryPtr = std::shared_ptr<const Inventory>;

// What came of one scan of one source.
struct Merged {
  InventoryPtr inventory;           // the one given, when nothing changed
  std::vector<DeviceKey> vanished;  // no longer listed; kept as not present
  std::vector<DeviceKey> removed;   // left the inventory
};

// The next inventory after `source` listed `scanned`. Devices of other sources stay as they are. A
// device of this source that is missing from the scan stays with present=false, so that it is seen
// to be out before it is gone, and leaves with a later scan, once `in_use` says that nobody can
// hold it. Two scanned devices with one id: the first counts, and carries a defect that says so.
Merged Merge(const InventoryPtr& before, std::string_view source, std::vector<Device> scanned,
             const std::function<bool(const DeviceKey&)>& in_use);

}  // namespace tessera
