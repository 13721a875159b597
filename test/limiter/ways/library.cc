// SPDX-License-Identifier: Apache-2.0
// A library that looks functions up for its program: the loader answers by who asks.
#include <dlfcn.h>

#include "limiter/driver/cuda.h"

extern "C" {

[[gnu::visibility("default")]] void* LibraryLooksUp(void* handle, const char* name) {
  void* found = dlsym(handle, name);
  asm volatile("" ::: "memory");  // or it is a jump, and the caller is the program
  return found;
}

[[gnu::weak]] CUresult cuGetProcAddress_v2(const char*, void**, int, cuuint64_t,
                                           CUdriverProcAddressQueryResult*);
[[gnu::visibility("default")]] decltype(&cuGetProcAddress_v2) LibraryRefersTo() {
  return &cuGetProcAddress_v2;
}

// The program has one of this name as well.
[[gnu::visibility("default")]] int cuOfSeveral() {
  return 1;
}

#ifdef STANDS_BEFORE_THE_DRIVER
CUresult cuGetProcAddress(const char*, void**, int, cuuint64_t) {
  return CUDA_ERROR_UNKNOWN;
}
#endif

}  // extern "C"
