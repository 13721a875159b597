// SPDX-License-Identifier: Apache-2.0
// A region whose words somebody else wrote: pairs of a place (4 bytes; from half of all on it is in
// HAMi-core's part) and a value (8 bytes) put into a good one, then the books are used.

#include <cstring>

#include "limiter/books/counters.h"
#include "limiter/books/slots.h"
#include "limiter/contract.h"
#include "test/fuzz/fuzz.h"

namespace tessera::limiter {
namespace {

using fuzz::Require;

void Use(const uint8_t* data, size_t size) {
  static Region region;
  static constexpr size_t kHead = offsetof(HamiRegion, slots) + 64 * sizeof(HamiSlot);
  static constexpr size_t kWords = offsetof(Books, slots) + 64 * sizeof(SlotBooks);
  std::memset(&region.hami, 0, kHead);
  std::memset(&region.books, 0, kWords);
  const RegionDevice device{"GPU-aa", 1 << 30, 30};
  MakeRegion({.devices = &device, .count = 1}, &region);
  for (; size >= 12; data += 12, size -= 12) {
    uint32_t place = 0;
    std::memcpy(&place, data, sizeof(place));
    char* const word = place < uint32_t{1} << 31
                           ? reinterpret_cast<char*>(&region.books) + place % (kWords / 8) * 8
                           : reinterpret_cast<char*>(&region.hami) + place % (kHead / 8) * 8;
    std::memcpy(word, data + 4, 8);
  }
  // Places that name no slot of these 64 stay as they are from one input to the next.
  Locks locks(&region, 1, true);
  const int slot = TakeSlot(&region, 1, &locks);
  Require(slot >= -1 && slot < kMaxSlots, "a slot is one of them");
  for (int step = 0; step < 8 && slot >= 0; ++step) {
    Move(&region.books, step % kMaxDevices, static_cast<uint32_t>(slot), step % 2 == 0 ? 7 : -5,
         1000);
    Mirror(&region, static_cast<uint32_t>(slot), step % kMaxDevices);
  }
  ReapDead(&region, slot, 64, &locks);
  if (slot >= 0) Empty(&region, static_cast<uint32_t>(slot));
  for (int i = 0; i < kMaxDevices && slot >= 0; ++i) {
    Require(TotalOf(region.books, i) <= kMaxUnits, "a total is an amount");
    Require(ShareOf(&region.books, i, static_cast<uint32_t>(slot)) <= kMaxUnits, "so is a share");
  }
}

}  // namespace
}  // namespace tessera::limiter

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tessera::limiter::Use(data, size);
  return 0;
}
