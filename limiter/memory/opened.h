// SPDX-License-Identifier: Apache-2.0
// Memory of other processes at addresses of this one: opened by CUDA's IPC, or allocated in an
// imported pool. Any thread.
#pragma once

#include "limiter/memory/charge.h"

namespace tessera::limiter {

// Around the driver's import call, for whichever device: memory that others give up meanwhile may
// be the imported memory.
class ImportScope {
 public:
  ImportScope() {
    for (int place = 0; place < kMaxDevices; ++place) BeginImport(place);
  }
  ~ImportScope() {
    for (int place = 0; place < kMaxDevices; ++place) EndImport(place);
  }
  ImportScope(const ImportScope&) = delete;
  ImportScope& operator=(const ImportScope&) = delete;
};

// Counts memory that the driver has opened, maybe not for the first time. If no process of the
// container is charged for it, this one is, in whole `chunk`s. Past the limit, undo() gives it back
// to the driver.
template <typename Undo>
CUresult CountOpened(CUdeviceptr pointer, uint64_t chunk, Undo undo) {
  Table* const table = TheTable();
  const int place = PlaceOfPointer(pointer);
  Holding opened{.device = place, .references = 1};
  Holding after;
  if (place < 0 || (table != nullptr && table->Count(Sort::kOpened, pointer, 1, 0, 0, &after))) {
    return CUDA_SUCCESS;
  }
  CUdeviceptr begin = 0;
  size_t bytes = 0;
  TheDriver().cuMemGetAddressRange_v2(&begin, &bytes, pointer);
  const uint64_t held = RoundUp(bytes, chunk);
  const bool is_known = NoteImported(place, held);
  (is_known ? opened.other : opened.bytes) = held;
  const bool has_room = is_known || ReserveOrTrim(place, held);
  any_is_opened.store(true, std::memory_order_release);
  if (has_room && table != nullptr && table->Add(Sort::kOpened, pointer, opened)) {
    return CUDA_SUCCESS;
  }
  // Another thread recorded it at the same moment.
  const bool is_there =
      has_room && table != nullptr && table->Count(Sort::kOpened, pointer, 1, 0, 0, &after);
  if (!is_there) undo();
  if (is_known) MemoryRelease(place, false).GiveBack(held);
  if (!is_known && has_room) Release(place, held, Kind::kData);
  return is_there ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

}  // namespace tessera::limiter
