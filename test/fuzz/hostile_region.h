// SPDX-License-Identifier: Apache-2.0
// A container's region in which somebody else wrote: an input is a list of a place (4 bytes) and of
// what stands there from then on (8 bytes). The upper three bits of a place say in which part of
// the region it is, the others which byte of that; the last part is all of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "limiter/contract.h"

namespace tessera::fuzz {

struct Part {
  size_t offset;
  size_t size;
};

// The first slots are those that are used.
inline constexpr size_t kFirstSlots = 8;

inline Part PartOf(uint32_t place) {
  using limiter::Accounting;
  using limiter::HamiRegion;
  using limiter::kAccountingOffset;
  static constexpr Part kParts[] = {
      {0, offsetof(HamiRegion, slots) + kFirstSlots * sizeof(limiter::HamiSlot)},
      {offsetof(HamiRegion, proc_num), sizeof(HamiRegion) - offsetof(HamiRegion, proc_num)},
      {kAccountingOffset,
       offsetof(Accounting, slots) + kFirstSlots * sizeof(limiter::SlotAccounting)},
      {kAccountingOffset + offsetof(Accounting, times), sizeof(Accounting::times)},
      {kAccountingOffset + offsetof(Accounting, in_flight),
       kFirstSlots * sizeof(Accounting::in_flight[0])},
      {kAccountingOffset + offsetof(Accounting, calibrations), sizeof(Accounting::calibrations)},
      {kAccountingOffset + offsetof(Accounting, lendings),
       kFirstSlots * sizeof(Accounting::lendings[0])},
      {0, sizeof(limiter::Region)},
  };
  return kParts[place >> 29];
}

// Bytes of the region that are written.
struct Word {
  static constexpr size_t kSize = 12;  // of the input
  explicit Word(const uint8_t* data) {
    uint32_t place = 0;
    std::memcpy(&place, data, sizeof place);
    std::memcpy(&value, data + sizeof place, sizeof value);
    const Part part = PartOf(place);
    const size_t within = (place & ((uint32_t{1} << 29) - 1)) % part.size;
    offset = part.offset + within;
    size = std::min(sizeof value, part.size - within);
  }
  void WriteTo(limiter::Region* region) const {
    std::memcpy(reinterpret_cast<char*>(region) + offset, &value, size);
  }
  void ReadFrom(const limiter::Region& region) {
    std::memcpy(&value, reinterpret_cast<const char*>(&region) + offset, size);
  }

  size_t offset;
  size_t size;
  uint64_t value;
};

}  // namespace tessera::fuzz
