// SPDX-License-Identifier: Apache-2.0
// Advice and prefetch for managed memory. The arguments are checked; no page is moved.
#include "cuda/contexts.h"
#include "cuda/memory.h"
#include "cuda/streams.h"

namespace tessera::fake_cuda {
namespace {

constexpr CUdevice kHost = -1;

bool IsPlace(const CUmemLocation& location) {
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return location.type != CU_MEM_LOCATION_TYPE_INVALID;
  }
  const auto devices = static_cast<int>(TheDriver()->node.devices.size());
  return location.id >= 0 && location.id < devices;
}

CUresult Check(CUdeviceptr address, const CUmemLocation& location) {
  if (Current() == nullptr) return Missing();
  if (!IsPlace(location)) return CUDA_ERROR_INVALID_DEVICE;
  const std::optional<Found> found = FindInHeaps(address);
  return found && found->managed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult Check(CUdeviceptr address, CUdevice device) {
  const auto type = device == kHost ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
  return Check(address, {type, device});
}

// The addresses from number firsts[i] on go to locations[i].
CUresult CheckAll(const CUdeviceptr* addresses, size_t count, const CUmemLocation* locations,
                  const size_t* firsts, size_t location_count) {
  if (addresses == nullptr || locations == nullptr || firsts == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  size_t to = 0;
  for (size_t i = 0; i < count; ++i) {
    while (to + 1 < location_count && firsts[to + 1] <= i) ++to;
    const CUresult result = Check(addresses[i], locations[to]);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_EXPORT CUresult cuMemAdvise(CUdeviceptr address, size_t /*bytes*/, int /*advice*/,
                                 CUdevice device) {
  return Check(address, device);
}
FAKE_EXPORT CUresult cuMemAdvise_v2(CUdeviceptr address, size_t /*bytes*/, int /*advice*/,
                                    CUmemLocation location) {
  return Check(address, location);
}

FAKE_STREAM_FUNCTION(cuMemPrefetchAsync, _ptsz,
                     (CUdeviceptr address, size_t, CUdevice device, CUstream),
                     (address, 0, device, nullptr)) {
  return Check(address, device);
}
FAKE_STREAM_FUNCTION(cuMemPrefetchAsync_v2, _ptsz,
                     (CUdeviceptr address, size_t, CUmemLocation location, unsigned, CUstream),
                     (address, 0, location, 0, nullptr)) {
  return Check(address, location);
}
FAKE_STREAM_FUNCTION(cuMemPrefetchBatchAsync, _ptsz,
                     (CUdeviceptr * addresses, size_t*, size_t count, CUmemLocation* locations,
                      size_t* firsts, size_t location_count, unsigned long long, CUstream),
                     (addresses, nullptr, count, locations, firsts, location_count, 0, nullptr)) {
  return CheckAll(addresses, count, locations, firsts, location_count);
}
FAKE_STREAM_FUNCTION(cuMemDiscardAndPrefetchBatchAsync, _ptsz,
                     (CUdeviceptr * addresses, size_t*, size_t count, CUmemLocation* locations,
                      size_t* firsts, size_t location_count, unsigned long long, CUstream),
                     (addresses, nullptr, count, locations, firsts, location_count, 0, nullptr)) {
  return CheckAll(addresses, count, locations, firsts, location_count);
}
