// SPDX-License-Identifier: Apache-2.0
// Pairs each device of one source with the nearest device of another, such as a GPU with the
// network card behind the same switch. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"

namespace tessera {

// How near two devices are, the nearest last. Of two pairs below one switch or further down, the
// one with the longer common path is nearer.
enum class Nearness : uint8_t {
  kUnknown,  // on other NUMA nodes, or nothing is known
  kNuma,     // on one NUMA node
  kComplex,  // below one root complex
  kPort,     // below one port of the root complex
  kSwitch,   // below one switch
  kSlot,     // functions of one slot
};
Nearness NearnessOf(const Device& a, const Device& b);
// For people: "behind one switch".
std::string_view NearnessText(Nearness nearness);

struct DevicePair {
  size_t first = 0;   // a position in the first list
  size_t second = 0;  // a position in the second list
  bool operator==(const DevicePair&) const = default;
};

// The pairs, in the order of the first list. The nearest devices are paired first. At equal
// nearness the first devices of both lists go together, in the order of their PCI addresses. So the
// i-th goes with the i-th where nothing is known of either, as in a virtual machine with one root
// complex.
//
// - A device of the first list is in one pair at most, one of the second in `shares` at most.
// - Of partners that are equally near, the least used come first, and of these the ones behind the
//   least used part of the bus. So virtual functions are taken from each card in turn.
// - A device that has no partner left is in no pair.
// - `former` pairs stay, unless a partner that none of them has is nearer to their first device. So
//   a lost device costs its own pair alone. Of equally near partners the former one comes first.
// - A device with a defect keeps its former partner and gets no other: nobody knows where it is.
//
// Takes time and memory for each device of the one with each of the other.
using DeviceRefs = std::vector<const Device*>;
std::vector<DevicePair> NearestPairs(const DeviceRefs& first, const DeviceRefs& second,
                                     size_t shares, std::span<const DevicePair> former = {});
template <class Devices>
DeviceRefs RefsOf(const Devices& devices) {
  DeviceRefs refs;
  for (const Device& device : devices) refs.push_back(&device);
  return refs;
}

}  // namespace tessera
