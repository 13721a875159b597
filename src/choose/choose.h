// SPDX-License-Identifier: Apache-2.0
// Preferred allocation: the shares that a container should get of the free ones. It is a hint to
// kubelet, computed from the offer alone. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "choose/placement.h"
#include "share/share.h"

namespace tessera {

struct Preference {
  std::span<const std::string> available;     // any order; unknown ids are ignored
  std::span<const std::string> must_include;  // first in the answer
  int size = 0;                               // number of wanted ids, including must_include
  Placement placement = Placement::kSpread;
};

// Chooses the ids: must_include first, in natural order. Unknown and unhealthy ids are never
// proposed. Nor are ids that are offered only because a container still holds them. Devices that go
// together are taken whole and first; devices that exclude each other are not combined (narrow.h).
//
// Up to 256 undivided devices with links or parents: the devices that are closest to each other
// (closest.h).
//
// Other devices are ranked in this order. (1) As few NUMA nodes as possible, those of must_include
// first. (2) The node with the least sufficient room, so that large rooms stay whole. (3)
// `placement`. (4) The device with the fewest shares in the answer. (5) Natural order. For parts of
// devices, `placement` also chooses the parent. If parts are spread, the node with the least taken
// device precedes the node with the least room. A device near to several nodes counts for each of
// them. Devices without NUMA information are a group of their own.
//
// The answer does not depend on the order of the ids, and the function never fails. If too few ids
// are available, the answer has all of them. If `size` is less than must_include has, it has the
// first `size` of those. Takes n log n time for n ids.
std::vector<std::string> Choose(const Offer& offer, const Preference& preference);

}  // namespace tessera
