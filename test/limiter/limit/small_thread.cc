// SPDX-License-Identifier: Apache-2.0
// Makes a process's first calls in a thread with the smallest possible stack. No call may change
// errno. Prints errno after some of them, and how many pieces of 100 MiB it got:
//
// `errno 77 77 77 77 77, 10 pieces`.
#include <pthread.h>

#include <cerrno>
#include <cstdio>

#include "limiter/driver/cuda.h"

extern "C" CUresult cuCtxSynchronize();

namespace {

constexpr int kCalls = 5, kOwn = 77;
constexpr size_t kStack = 16'384;

struct Left {
  int errors[kCalls] = {};
  int count = 0;
  int pieces = 0;

  void Note() {
    errors[count++] = errno;
    errno = kOwn;
  }
};

void* Call(void* with) {
  auto* const left = static_cast<Left*>(with);
  CUcontext context = nullptr;
  CUdeviceptr address = 0;
  cuInit(0);
  errno = kOwn;
  cuDevicePrimaryCtxRetain(&context, 0);
  left->Note();
  cuCtxSetCurrent(context);
  errno = kOwn;
  while (cuMemAlloc_v2(&address, 104'857'600) == CUDA_SUCCESS) ++left->pieces;
  left->Note();
  cuMemFree_v2(address);
  left->Note();
  CUmodule module = nullptr;
  CUfunction spin = nullptr;
  cuModuleLoadData(&module, ".visible .entry spin(.param .u64 ns) {}");
  cuModuleGetFunction(&spin, module, "spin");
  errno = kOwn;
  uint64_t ns = 20'000'000;
  void* parameters[] = {&ns};
  // The second launch waits for debt.
  for (int i = 0; i < 2; ++i) {
    cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
  }
  left->Note();
  cuCtxSynchronize();
  left->Note();
  return nullptr;
}

}  // namespace

int main() {
  Left left;
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  if (pthread_create(&thread, &attributes, Call, &left) != 0) return 1;
  pthread_join(thread, nullptr);
  printf("errno");
  for (const int error : left.errors) printf(" %d", error);
  printf(", %d pieces\n", left.pieces);
  return 0;
}
