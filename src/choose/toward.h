// SPDX-License-Identifier: Apache-2.0
// Devices near to what a container was granted of another resource. kubelet asks for each resource
// of a container by itself, one directly after the other. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "choose/choose.h"
#include "share/share.h"

namespace tessera {

// What was granted of the other resource.
struct GrantedBeside {
  OfferPtr offer;                // of the other resource
  std::vector<std::string> ids;  // of its shares
};

// Chooses an available id for each granted device that has a place on the PCI bus. With
// must_include they are `size` at most.
//
// - The id is a share of the device's partner, as NearestPairs pairs the devices of both resources.
// - If the partner has no free share, it is one of the nearest device that has.
// - Devices that go together, or that exclude a chosen one, are left to Choose.
//
// Empty, if the buses of both are not known, or if both have the same hardware. Empty too, if there
// are too many devices for the time that kubelet waits.
std::vector<std::string> Toward(const Offer& offer, const Preference& preference,
                                const GrantedBeside& beside);

}  // namespace tessera
