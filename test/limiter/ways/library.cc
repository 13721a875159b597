// SPDX-License-Identifier: Apache-2.0
// A library that looks functions up for its program: the loader's answer depends on the caller.
#include <dlfcn.h>

#include "limiter/driver/cuda.h"

extern "C" {

[[gnu::visibility("default")]] void* LibraryLooksUp(void* handle, const char* name) {
  void* found = dlsym(handle, name);
  asm volatile("" ::: "memory");  // else a tail jump makes the program the caller
  return found;
}

[[gnu::weak]] CUresult cuGetProcAddress_v2(const char*, void**, int, cuuint64_t,
                                           CUdriverProcAddressQueryResult*);
[[gnu::visibility("default")]] decltype(&cuGetProcAddress_v2) LibraryRefersTo() {
  return &cuGetProcAddress_v2;
}

// The program defines a function of this name as well.
[[gnu::visibility("default")]] int cuOfSeveral() {
  return 1;
}

#ifdef STANDS_BEFORE_THE_DRIVER
CUresult cuGetProcAddress(const char*, void**, int, cuuint64_t) {
  return CUDA_ERROR_UNKNOWN;
}
#endif

}  // extern "C"
