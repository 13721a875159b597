// SPDX-License-Identifier: Apache-2.0
// A container's region (limiter/contract.h) with hostile content. An input is a list of words: a
// place (4 bytes) and the value to write there (8 bytes). A place's upper three bits choose a part
// of the region; the other bits choose the byte in it. The last part is the whole region.
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

// The used slots are the first ones, so most words should hit them.
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

// One word of the input, and its bytes in the region.
struct Word {
  static constexpr size_t kSize = 12;  // bytes in the input
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

  size_t offset;  // in the region
  size_t size;    // bytes; fewer than 8 at a part's end
  uint64_t value;
};

}  // namespace tessera::fuzz
