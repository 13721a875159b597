// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 of a few functions, to test how they are found; none does anything. With
// FAKE_UNEXPORTED in the environment cuGetProcAddress hands out functions that are not exported.
// For CUDA 15 a symbol always gets another function.
#include <cstdlib>
#include <cstring>

#include "limiter/driver/cuda.h"

namespace {

constexpr int kFuture = 15000;

template <int Which>
CUresult Unnamed() {
  return static_cast<CUresult>(Which);
}

struct Known {
  const char* symbol;
  int since;
  cuuint64_t flags;
  void* exported;
  void* unnamed;
};

template <typename F>
void* Address(F* function) {
  return reinterpret_cast<void*>(function);
}

const Known kKnown[] = {
    {"cuInit", 2000, 0, Address(cuInit), Address(Unnamed<0>)},
    {"cuMemGetInfo", 2000, 0, Address(cuMemGetInfo), Address(Unnamed<1>)},
    {"cuMemGetInfo", 3020, 0, Address(cuMemGetInfo_v2), Address(Unnamed<2>)},
    {"cuMemGetInfo", kFuture, 0, Address(Unnamed<3>), Address(Unnamed<3>)},
    {"cuMemAllocAsync", 11020, 0, Address(cuMemAllocAsync), Address(Unnamed<4>)},
    {"cuMemAllocAsync", 11020, 2, Address(cuMemAllocAsync_ptsz), Address(Unnamed<5>)},
    {"cuGetProcAddress", 11030, 0, Address(cuGetProcAddress), Address(Unnamed<6>)},
    {"cuGetProcAddress", 12000, 0, Address(cuGetProcAddress_v2), Address(Unnamed<7>)},
};

void* Find(const char* symbol, int version, cuuint64_t flags) {
  void* found = nullptr;
  for (const Known& known : kKnown) {
    if (strcmp(known.symbol, symbol) != 0 || known.since > version) continue;
    if (known.flags != 0 && known.flags != flags) continue;
    found = getenv("FAKE_UNEXPORTED") != nullptr ? known.unnamed : known.exported;
  }
  return found;
}

}  // namespace

CUresult cuInit(unsigned) {
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
  *version = 13050;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  *count = 0;
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo(unsigned*, unsigned*) {
  return CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuMemGetInfo_v2(size_t*, size_t*) {
  return CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuMemAllocAsync(CUdeviceptr*, size_t, CUstream) {
  return CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuMemAllocAsync_ptsz(CUdeviceptr*, size_t, CUstream) {
  return CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuGetExportTable(const void**, const CUuuid*) {
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetProcAddress(const char* symbol, void** address, int version, cuuint64_t flags) {
  *address = Find(symbol, version, flags);
  return *address != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

// As with the driver, a missing symbol is no error here; the status says it.
CUresult cuGetProcAddress_v2(const char* symbol, void** address, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  *address = Find(symbol, version, flags);
  if (status == nullptr) return CUDA_SUCCESS;
  if (*address != nullptr) {
    *status = CU_GET_PROC_ADDRESS_SUCCESS;
  } else if (Find(symbol, kFuture, flags) != nullptr) {
    *status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
  } else {
    *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return CUDA_SUCCESS;
}
