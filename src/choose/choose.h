// SPDX-License-Identifier: Apache-2.0
// Preferred allocation: which shares a container should get, out of those that are free. A hint to
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
  std::span<const std::string> available;     // any order; unknown ids are tolerated
  std::span<const std::string> must_include;  // come first in the answer
  int size = 0;                               // how many ids are wanted, must_include counted in
  Placement placement = Placement::kSpread;
};

// The ids to take: must_include first, in natural order. Of undivided devices that have links or
// parents, up to 256 of them, those that are closest to each other (closest.h). Of others as few
// NUMA nodes as possible, those of must_include before others; then, of the nodes that have room
// enough, the one with the least room, so that large rooms stay whole; then `placement`, of equals
// the device with the fewest shares in the answer, among parts of devices `placement` for these as
// well; then natural order. Parts of devices that are to be spread go to the node with the least
// taken device instead of the one with the least room. Devices near to several nodes count for each
// of them, those without NUMA information are a group of their own. Unknown and unhealthy ids, and
// those that are offered for their holders' sake alone, are not proposed. Devices that go together
// are taken whole and before others, and none that exclude each other (narrow.h). Deterministic
// whatever the order of the ids; never fails: with too little available the answer is all there is,
// with size below must_include's it is the first `size` of those. Time grows with the number of ids
// as n log n.
std::vector<std::string> Choose(const Offer& offer, const Preference& preference);

}  // namespace tessera
