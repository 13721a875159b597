// SPDX-License-Identifier: Apache-2.0
#include "card/costs/calls.h"

#include <dlfcn.h>

#include <string>

#include "card/time/gpu.h"

// NOLINTBEGIN(readability-identifier-naming): they are the driver's
extern "C" {
CUresult cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode);
CUresult cuStreamEndCapture(CUstream, CUgraph*);
}
// NOLINTEND(readability-identifier-naming)

namespace tessera::card {
namespace {

#define CHECK(call) Check(call, #call)

constexpr int kBatches = 5;
constexpr int kKernelsOfAToken = 64;
constexpr int kTokens = 100;

using Tell = std::function<void(std::string_view, double)>;

template <typename Body>
double MicrosecondsOf(Body body) {
  const uint64_t begun = Now();
  body();
  return static_cast<double>(Now() - begun) / 1000;
}

// Of one of so many.
template <typename Body>
void TellBatches(const Tell& tell, std::string_view name, int times, Body body) {
  for (int batch = 0; batch < kBatches; ++batch) {
    const double all = MicrosecondsOf([&] {
      for (int i = 0; i < times; ++i) body();
    });
    CHECK(cuCtxSynchronize());
    tell(name, all / times);
  }
}

void Launch(CUfunction kernel, CUstream stream) {
  CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr));
}

CUfunction Start(const Tell& tell) {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  tell("cuInit", MicrosecondsOf([] { CHECK(cuInit(0)); }));
  tell("first context", MicrosecondsOf([&] {
         CHECK(cuDevicePrimaryCtxRetain(&context, 0));
         CHECK(cuCtxSetCurrent(context));
       }));
  tell("module of three kernels",
       MicrosecondsOf([&] { CHECK(cuModuleLoadData(&module, kKernels)); }));
  tell("first kernel, to its end", MicrosecondsOf([&] {
         CHECK(cuModuleGetFunction(&kernel, module, "empty"));
         Launch(kernel, nullptr);
         CHECK(cuCtxSynchronize());
       }));
  return kernel;
}

void AllocateAndFree(size_t bytes) {
  CUdeviceptr address = 0;
  CHECK(cuMemAlloc_v2(&address, bytes));
  CHECK(cuMemFree_v2(address));
}

void Find(void* library, const char* name) {
  Check(dlsym(library, name) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND, name);
}

// A token of a decoder: a graph of short kernels, and its end is waited for.
void TellTokens(const Tell& tell, CUfunction kernel) {
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CHECK(cuStreamCreate(&stream, 1));
  CHECK(cuStreamBeginCapture_v2(stream, CUstreamCaptureMode{2}));  // relaxed
  for (int i = 0; i < kKernelsOfAToken; ++i) Launch(kernel, stream);
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < kTokens; ++i) {
    const double us = MicrosecondsOf([&] {
      CHECK(cuGraphLaunch(exec, stream));
      CHECK(cuStreamSynchronize(stream));
    });
    if (i >= kTokens / 2) tell("a token, graph of 64 kernels", us);
  }
}

}  // namespace

void MeasureCalls(const Tell& tell) {
  const CUfunction kernel = Start(tell);
  size_t free = 0, total = 0;
  TellBatches(tell, "cuMemAlloc and cuMemFree of 64 KiB", 50, [] { AllocateAndFree(64 << 10); });
  TellBatches(tell, "cuMemAlloc and cuMemFree of 64 MiB", 50, [] { AllocateAndFree(64 << 20); });
  TellBatches(tell, "cuMemGetInfo", 50, [&] { CHECK(cuMemGetInfo_v2(&free, &total)); });
  TellBatches(tell, "cuLaunchKernel", 200, [&] { Launch(kernel, nullptr); });
  TellBatches(tell, "cuLaunchKernel and cuCtxSynchronize", 50, [&] {
    Launch(kernel, nullptr);
    CHECK(cuCtxSynchronize());
  });
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  TellBatches(tell, "dlsym of cuMemAlloc_v2", 1000, [&] { Find(library, "cuMemAlloc_v2"); });
  TellTokens(tell, kernel);
}

}  // namespace tessera::card
