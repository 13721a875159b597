// SPDX-License-Identifier: Apache-2.0
// Contexts, what they are made larger by, and green ones.
#include "card/probes/helpers.h"
#include "card/probes/steps.h"

namespace tessera::card {
namespace {

CUcontext context = nullptr;
CUgreenCtx green = nullptr;

CUresult Retain(uint64_t) {
  return CU(cuDevicePrimaryCtxRetain)(&context, 0);
}

template <typename Function>
void ResetBy(Function* reset) {
  Say("reset " + std::to_string(reset(0)));
  CU(cuDevicePrimaryCtxRelease_v2)(0);
}

template <typename Function>
void DestroyBy(Function* destroy) {
  if (context == nullptr) return;
  Say("destroyed " + std::to_string(destroy(context)));
  context = nullptr;
}

size_t former = 0;

// Once as large, and a kernel that would have to have it.
template <CUlimit limit>
CUresult Enlarge(uint64_t bytes) {
  FirstFailure enlarged;
  enlarged << CU(cuCtxGetLimit)(&former, limit)
           << CU(cuCtxSetLimit)(limit, limit == CU_LIMIT_STACK_SIZE ? former + 512 : bytes);
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  enlarged << CU(cuModuleLoadData)(&module, Ptx(0).c_str());
  if (enlarged.result != CUDA_SUCCESS) return enlarged.result;
  enlarged << CU(cuModuleGetFunction)(&kernel, module, "empty")
           << CU(cuLaunchKernel)(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  Synchronize();
  CU(cuModuleUnload)(module);
  Say("was " + std::to_string(former));
  return enlarged.result;
}
template <CUlimit limit>
void MakeSmall() {
  Say("back " + std::to_string(CU(cuCtxSetLimit)(limit, former)));
}

constexpr Step kPrimarySteps[] = {
    {"cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease_v2", Retain,
     [] { CU(cuDevicePrimaryCtxRelease_v2)(0); }, "the first", true},
    {"cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease", Retain,
     [] { CU(cuDevicePrimaryCtxRelease)(0); }, "again", true},
    {"cuDevicePrimaryCtxReset_v2", Retain, [] { ResetBy(CU(cuDevicePrimaryCtxReset_v2)); }, "",
     true},
    {"cuDevicePrimaryCtxReset", Retain, [] { ResetBy(CU(cuDevicePrimaryCtxReset)); }, "", true},
};

constexpr Step kSteps[] = {
    {"cuCtxCreate_v2 cuCtxDestroy_v2", [](uint64_t) { return CU(cuCtxCreate_v2)(&context, 0, 0); },
     [] { DestroyBy(CU(cuCtxDestroy_v2)); }},
    {"cuCtxCreate cuCtxDestroy", [](uint64_t) { return CU(cuCtxCreate)(&context, 0, 0); },
     [] { DestroyBy(CU(cuCtxDestroy)); }},
    {"cuCtxCreate_v3", [](uint64_t) { return CU(cuCtxCreate_v3)(&context, nullptr, 0, 0, 0); },
     [] { DestroyBy(CU(cuCtxDestroy_v2)); }},
    {"cuCtxCreate_v4", [](uint64_t) { return CU(cuCtxCreate_v4)(&context, nullptr, 0, 0); },
     [] { DestroyBy(CU(cuCtxDestroy_v2)); }},
    {"cuCtxAttach cuCtxDetach",
     [](uint64_t) {
       CUcontext same = nullptr;
       FirstFailure attached;
       attached << CU(cuCtxCreate_v2)(&context, 0, 0) << CU(cuCtxAttach)(&same, 0);
       return attached.result;
     },
     [] {
       if (context != nullptr) Say("detached " + std::to_string(CU(cuCtxDetach)(context)));
       DestroyBy(CU(cuCtxDestroy_v2));
     }},
    {"cuCtxSetLimit", Enlarge<CU_LIMIT_STACK_SIZE>, MakeSmall<CU_LIMIT_STACK_SIZE>,
     "stack, 512 bytes more"},
    {"cuCtxSetLimit", Enlarge<CU_LIMIT_PRINTF_FIFO_SIZE>, MakeSmall<CU_LIMIT_PRINTF_FIFO_SIZE>,
     "printf's buffer"},
    {"cuCtxSetLimit", Enlarge<CU_LIMIT_MALLOC_HEAP_SIZE>, MakeSmall<CU_LIMIT_MALLOC_HEAP_SIZE>,
     "malloc's heap"},
    {"cuGreenCtxCreate cuCtxFromGreenCtx cuGreenCtxDestroy",
     [](uint64_t) {
       CUcontext of_green = nullptr;
       FirstFailure made;
       made << NewGreen(&green) << CU(cuCtxFromGreenCtx)(&of_green, green);
       return made.result;
     },
     [] {
       if (green != nullptr) CU(cuGreenCtxDestroy)(green);
       green = nullptr;
     }},
};

}  // namespace

std::span<const Step> PrimarySteps() {
  return kPrimarySteps;
}
std::span<const Step> ContextSteps() {
  return kSteps;
}

}  // namespace tessera::card
