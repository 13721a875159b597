// SPDX-License-Identifier: Apache-2.0
// Which kind of device a function of the PCI bus is of, where several claim it. A kind may have
// several devices on one, in several resources.
#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "node/node.h"

namespace tessera {

// A source that is no longer configured may be of any kind.
std::string Node::KindNameOf(const Device& device) const {
  const auto kind = kinds_.find(device.key.source);
  const bool known = kind != kinds_.end() && !retired_.contains(device.key.source);
  return known ? kind->second : device.key.source;
}

// A device that a container has goes before others, and one of the kind that had the function last
// before those of other kinds.
const Device& Node::OwnerOf(const std::string& address,
                            std::span<const Device* const> claims) const {
  const auto former = owners_.find(address);
  const auto rank = [&](const Device* device) {
    const bool had_it = former != owners_.end() && KindNameOf(*device) == former->second;
    return std::pair(ledger_.IsHeld(device->key), had_it);
  };
  return **std::ranges::max_element(claims, {}, rank);  // the first of equals
}

void Node::AddDisowned(KeptOut& out) {
  std::map<std::string, std::vector<const Device*>> claims;
  for (const size_t i : on_bus_) {
    const Device& device = inventory_->devices[i];
    if (!device.present && !ledger_.IsHeld(device.key)) continue;
    claims[std::string(FileName(device.traits->pci_path))].push_back(&device);
  }
  std::map<std::string, std::string> owners;
  for (const auto& [address, devices] : claims) {
    const Device& owner = OwnerOf(address, devices);
    const std::string& kind = owners[address] = KindNameOf(owner);
    // What a container has of another kind is the function all the same.
    const auto held = std::ranges::find_if(devices, [&](const Device* other) {
      return KindNameOf(*other) != kind && ledger_.IsHeld(other->key);
    });
    for (const Device* device : devices) {
      const bool owned = KindNameOf(*device) == kind;
      if (owned && held == devices.end()) continue;
      const Device& by = owned ? **held : owner;
      out.try_emplace(
          device->key,
          Error{Reason::kClaimed, "its PCI function " + address + " is that of " + by.key.Text() +
                                      ", a device of kind " + KindNameOf(by)});
    }
  }
  owners_ = std::move(owners);
}

}  // namespace tessera
