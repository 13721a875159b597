// SPDX-License-Identifier: Apache-2.0
// Hooks of CUDA's queries of a device's memory. The driver is called first and judges the call.
#include <algorithm>
#include <limits>

#include "limiter/driver/driver.h"
#include "limiter/memory/devices.h"
#include "limiter/memory/pool_ends.h"
#include "limiter/view/memory.h"

namespace tessera::limiter {
namespace {

// Callers of CUDA 2's functions have 32 bits; a caller may pass null.
template <typename Size>
void Tell(uint64_t value, Size* where) {
  if (where == nullptr) return;
  *where = static_cast<Size>(std::min<uint64_t>(value, std::numeric_limits<Size>::max()));
}

template <typename Size>
CUresult MemGetInfo(CUresult (*real)(Size*, Size*), Size* free, Size* total) {
  // A null of the program is passed on, for the driver to judge.
  Size all_free = 0, all = std::numeric_limits<Size>::max();
  const CUresult result =
      real(free == nullptr ? nullptr : &all_free, total == nullptr ? nullptr : &all);
  if (result != CUDA_SUCCESS) return result;
  const int place = CurrentPlace();
  EndPools(place);
  const MemoryView view = ViewOf(place, {all_free, all});
  Tell(view.free, free);
  Tell(view.total, total);
  return CUDA_SUCCESS;
}

template <typename Size>
CUresult DeviceTotalMem(CUresult (*real)(Size*, CUdevice), Size* bytes, CUdevice device) {
  const CUresult result = real(bytes, device);
  if (result == CUDA_SUCCESS && bytes != nullptr) {
    Tell(ViewOf(PlaceOfDevice(device), {*bytes, *bytes}).total, bytes);
  }
  return result;
}

}  // namespace
}  // namespace tessera::limiter

using tessera::limiter::TheDriver;

CUresult cuMemGetInfo(unsigned* free, unsigned* total) {
  return tessera::limiter::MemGetInfo(TheDriver().cuMemGetInfo, free, total);
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  return tessera::limiter::MemGetInfo(TheDriver().cuMemGetInfo_v2, free, total);
}

CUresult cuDeviceTotalMem(unsigned* bytes, CUdevice device) {
  return tessera::limiter::DeviceTotalMem(TheDriver().cuDeviceTotalMem, bytes, device);
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return tessera::limiter::DeviceTotalMem(TheDriver().cuDeviceTotalMem_v2, bytes, device);
}
