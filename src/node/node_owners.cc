// SPDX-License-Identifier: Apache-2.0
// The owner of a PCI function that several kinds claim. One kind may have several devices on a
// function, in several resources.
#include <algorithm>
#include <string>
#include <utility>

#include "node/node.h"

namespace tessera {

// A source that is no longer configured may be of any kind.
std::string Node::KindNameOf(const Device& device) const {
  const auto kind = kinds_.find(device.key.source);
  const bool known = kind != kinds_.end() && !retired_.contains(device.key.source);
  return known ? kind->second : device.key.source;
}

// A held device comes first. Then comes a device of the function's last kind, before those of other
// kinds.
const Device& Node::OwnerOf(const std::string& address,
                            std::span<const Device* const> claims) const {
  const auto former = owners_.find(address);
  const auto rank = [&](const Device* device) {
    const bool had_it = former != owners_.end() && KindNameOf(*device) == former->second;
    return std::pair(ledger_.IsHeld(device->key), had_it);
  };
  return **std::ranges::max_element(claims, {}, rank);  // the first of equal ones
}

// A function with a single claiming source belongs to that source's kind.
void Node::SetClaims(Claims claims) {
  std::map<std::string, std::string> owners;
  contested_.clear();
  for (auto& [address, positions] : claims) {
    const Device& first = inventory_->devices[positions.front()];
    const bool contested = std::ranges::any_of(
        positions, [&](size_t i) { return inventory_->devices[i].key.source != first.key.source; });
    if (!contested) {
      owners[address] = KindNameOf(first);
      continue;
    }
    const auto former = owners_.find(address);
    if (former != owners_.end()) owners.insert(*former);
    contested_[address] = std::move(positions);
  }
  owners_ = std::move(owners);
}

void Node::AddDisowned(KeptOut& out) {
  for (const auto& [address, positions] : contested_) {
    std::vector<const Device*> devices;
    for (const size_t i : positions) {
      const Device& device = inventory_->devices[i];
      if (device.present || ledger_.IsHeld(device.key)) devices.push_back(&device);
    }
    if (devices.empty()) {
      owners_.erase(address);
      continue;
    }
    const Device& owner = OwnerOf(address, devices);
    const std::string& kind = owners_[address] = KindNameOf(owner);
    // A container that holds a device of another kind holds the function too.
    const auto held = std::ranges::find_if(devices, [&](const Device* other) {
      return KindNameOf(*other) != kind && ledger_.IsHeld(other->key);
    });
    for (const Device* device : devices) {
      const bool owned = KindNameOf(*device) == kind;
      if (owned && held == devices.end()) continue;
      const Device& by = owned ? **held : owner;
      out.try_emplace(
          device->key,
          Error{Reason::kClaimed, "its PCI function " + address + " belongs to " + by.key.Text() +
                                      ", a device of kind " + KindNameOf(by)});
    }
  }
}

}  // namespace tessera
