// SPDX-License-Identifier: Apache-2.0
// Hooks of the calls that place pages of managed memory. Pages are counted where they were made.
// They may move to every device of the container, except one that gets no memory.
#include "limiter/memory/charge.h"

using namespace tessera::limiter;  // NOLINT: hooks are C's

namespace {

bool MayHave(int place, size_t bytes) {
  return place != kDeniedDevice || Refuse(place, bytes);
}

// Before CUDA 12.2 a location is a device's number, or -1 for the host.
template <typename Call>
CUresult Move(CUdevice device, size_t bytes, Call call) {
  return MayHave(PlaceOfDevice(device), bytes) ? call() : CUDA_ERROR_OUT_OF_MEMORY;
}
template <typename Call>
CUresult Move(const CUmemLocation& location, size_t bytes, Call call) {
  return MayHave(PlaceOfLocation(location), bytes) ? call() : CUDA_ERROR_OUT_OF_MEMORY;
}
// To several locations, each of which gets a part.
template <typename Call>
CUresult Move(const CUmemLocation* locations, size_t count, Call call) {
  for (size_t i = 0; locations != nullptr && i < count; ++i) {
    if (!MayHave(PlaceOfLocation(locations[i]), 0)) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return call();
}

}  // namespace

CUresult cuMemAdvise(CUdeviceptr pointer, size_t bytes, int advice, CUdevice device) {
  return Move(device, bytes,
              [&] { return TheDriver().cuMemAdvise(pointer, bytes, advice, device); });
}
CUresult cuMemAdvise_v2(CUdeviceptr pointer, size_t bytes, int advice, CUmemLocation location) {
  return Move(location, bytes,
              [&] { return TheDriver().cuMemAdvise_v2(pointer, bytes, advice, location); });
}

#define PREFETCH(suffix)                                                                         \
  CUresult cuMemPrefetchAsync##suffix(CUdeviceptr pointer, size_t bytes, CUdevice device,        \
                                      CUstream stream) {                                         \
    return Move(device, bytes, [&] {                                                             \
      return TheDriver().cuMemPrefetchAsync##suffix(pointer, bytes, device, stream);             \
    });                                                                                          \
  }                                                                                              \
  CUresult cuMemPrefetchAsync_v2##suffix(CUdeviceptr pointer, size_t bytes,                      \
                                         CUmemLocation location, unsigned flags,                 \
                                         CUstream stream) {                                      \
    return Move(location, bytes, [&] {                                                           \
      return TheDriver().cuMemPrefetchAsync_v2##suffix(pointer, bytes, location, flags, stream); \
    });                                                                                          \
  }
PREFETCH()
PREFETCH(_ptsz)

#define PREFETCH_BATCH(name)                                                                    \
  CUresult name(CUdeviceptr* pointers, size_t* bytes, size_t count, CUmemLocation* locations,   \
                size_t* firsts, size_t location_count, unsigned long long flags,                \
                CUstream stream) {                                                              \
    return Move(locations, location_count, [&] {                                                \
      return TheDriver().name(pointers, bytes, count, locations, firsts, location_count, flags, \
                              stream);                                                          \
    });                                                                                         \
  }
PREFETCH_BATCH(cuMemPrefetchBatchAsync)
PREFETCH_BATCH(cuMemPrefetchBatchAsync_ptsz)
PREFETCH_BATCH(cuMemDiscardAndPrefetchBatchAsync)
PREFETCH_BATCH(cuMemDiscardAndPrefetchBatchAsync_ptsz)
