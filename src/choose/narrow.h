// SPDX-License-Identifier: Apache-2.0
// Narrows a choice to devices that may be in one container together. Pure; any thread.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "share/share.h"

namespace tessera {

// Whether a preferred allocation may name the share. A kept share is never proposed, because its
// device waits for another policy. kubelet grants it to another container only if no other share is
// free.
bool IsProposed(const Offer& offer, const Share& share);

// The hardware that the devices of one container take. The devices outlive it.
class TakenHardware {
 public:
  void Take(const Device& device);
  // Whether another device has taken hardware of this one.
  bool Excludes(const Device& device) const;

 private:
  std::map<std::string_view, const Device*> takers_;
};

// Ids that one container may have together.
struct Narrowed {
  std::vector<std::string> included;   // the given ones, then ids of bundles that are taken whole
  std::vector<std::string> available;  // of the rest, ids that need and exclude no other device
};

// The candidates for a request of `size` ids. Bundles with an included device are completed, then
// further bundles are taken while they fit. Of devices that exclude each other, the ones that take
// the least hardware stay. Nothing if no device needs or excludes another one.
std::optional<Narrowed> Narrow(const Offer& offer, std::span<const std::string> available,
                               std::span<const std::string> included, size_t size);

}  // namespace tessera
