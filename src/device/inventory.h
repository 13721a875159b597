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

// The result of merging one scan of one source.
struct Merged {
  InventoryPtr inventory;           // the one given, when nothing changed
  std::vector<DeviceKey> vanished;  // no longer listed; kept as not present
  std::vector<DeviceKey> removed;   // left the inventory
};

// The inventory after a scan of `source` found `scanned`.
// - Devices of other sources stay as they are.
// - A device of this source that the scan misses stays with present=false, so that its fall is
//   published. A later scan lets it leave, once `in_use` says that no container can hold it.
// - If two scanned devices have one id, the first stays, with a defect.
Merged Merge(const InventoryPtr& before, std::string_view source, std::vector<Device> scanned,
             const std::function<bool(const DeviceKey&)>& in_use);

}  // namespace tessera
