// SPDX-License-Identifier: Apache-2.0
// Takes memory of the first device in pieces until there is no more, or up to MOST. It finds the
// driver's functions in the named way. Prints what it got and what it was told:
//
// `10 x 104857600, then 2; free 25165824 of 1073741824; device 1073741824`.
//
// COMMAND runs while it holds the memory.
//
// Usage: `limit_program linked|default|next|self|open|proc PIECE MOST COMMAND`.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "limiter/driver/cuda.h"

namespace {

std::string way;

void* Driver() {
  static void* handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return handle;
}

// `exported` is the function's whole name; cuGetProcAddress takes the `symbol` in it.
void* Find(const char* exported, const char* symbol) {
  if (way == "default") return dlsym(RTLD_DEFAULT, exported);
  if (way == "next") return dlsym(RTLD_NEXT, exported);
  if (way == "self") return dlsym(dlopen(nullptr, RTLD_NOW), exported);
  if (way == "open") return dlsym(Driver(), exported);
  void* found = nullptr;
  CUdriverProcAddressQueryResult status;
  const auto ask =
      reinterpret_cast<decltype(&cuGetProcAddress_v2)>(dlsym(Driver(), "cuGetProcAddress_v2"));
  ask(symbol, &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status);
  return found;
}

template <typename F>
F* As(F* linked, const char* exported, const char* symbol) {
#ifdef LINKED
  if (way == "linked") return linked;
#endif
  (void)linked;
  F* found = reinterpret_cast<F*>(Find(exported, symbol));
  if (found == nullptr) {
    fprintf(stderr, "there is no %s to be found by \"%s\"\n", exported, way.c_str());
    exit(1);
  }
  return found;
}

// A program that is not linked with the driver must not refer to it.
#ifdef LINKED
#define CALL(exported, symbol) As(&exported, #exported, #symbol)
#else
#define CALL(exported, symbol) As(decltype(&exported){nullptr}, #exported, #symbol)
#endif

void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "%s: %d\n", what, result);
  exit(1);
}

}  // namespace

int main(int count, char** words) {
  if (count < 5) return 1;
  way = words[1];
  const size_t piece = strtoull(words[2], nullptr, 0);
  const int most = atoi(words[3]);
  CUdevice device = 0;
  CUcontext context = nullptr;
  Check(CALL(cuInit, cuInit)(0), "cuInit");
  Check(CALL(cuDeviceGet, cuDeviceGet)(&device, 0), "cuDeviceGet");
  Check(CALL(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)(&context, device), "retain");
  Check(CALL(cuCtxSetCurrent, cuCtxSetCurrent)(context), "cuCtxSetCurrent");
  const auto allocate = CALL(cuMemAlloc_v2, cuMemAlloc);
  CUresult result = CUDA_SUCCESS;
  int got = 0;
  for (; got < most; ++got) {
    CUdeviceptr address = 0;
    result = allocate(&address, piece);
    if (result != CUDA_SUCCESS) break;
  }
  Check(system(words[4]) == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN, words[4]);
  size_t free = 0, total = 0, all = 0;
  Check(CALL(cuMemGetInfo_v2, cuMemGetInfo)(&free, &total), "cuMemGetInfo");
  Check(CALL(cuDeviceTotalMem_v2, cuDeviceTotalMem)(&all, device), "cuDeviceTotalMem");
  printf("%d x %zu, then %d; free %zu of %zu; device %zu\n", got, piece, result, free, total, all);
  return 0;
}
