// SPDX-License-Identifier: Apache-2.0
// Code, and its variables: by each way of loading it, and by what may load it late.
#include "card/probes/helpers.h"
#include "card/probes/steps.h"

namespace tessera::card {
namespace {

CUmodule module = nullptr;
CUlibrary library = nullptr;

void Unload() {
  if (module != nullptr) CU(cuModuleUnload)(module);
  module = nullptr;
}
void UnloadLibrary() {
  if (library != nullptr) CU(cuLibraryUnload)(library);
  library = nullptr;
}

CUresult Load(uint64_t bytes) {
  return CU(cuModuleLoadData)(&module, Ptx(bytes).c_str());
}
CUresult LoadLibrary(uint64_t bytes) {
  return CU(cuLibraryLoadData)(&library, Ptx(bytes).c_str(), nullptr, nullptr, 0, nullptr, nullptr,
                               0);
}

// What is done with a module or a library once it is loaded.
template <typename Then>
CUresult After(CUresult loaded, Then then) {
  return loaded == CUDA_SUCCESS ? then() : loaded;
}
template <typename Then>
CUresult Loaded(uint64_t bytes, Then then) {
  return After(Load(bytes), then);
}
// Likewise with a kernel that nobody asked for by name.
template <typename Then>
CUresult WithKernel(uint64_t bytes, Then then) {
  return Loaded(bytes, [&] {
    CUfunction kernel = nullptr;
    FirstFailure done;
    done << UnaskedKernel(module, &kernel);
    if (done.result == CUDA_SUCCESS) done << then(kernel);
    Synchronize();
    return done.result;
  });
}
template <typename Then>
CUresult LoadedLibrary(uint64_t bytes, Then then) {
  return After(LoadLibrary(bytes), then);
}

CUlaunchConfig One() {
  CUlaunchConfig one{};
  one.gridDimX = one.gridDimY = one.gridDimZ = 1;
  one.blockDimX = one.blockDimY = one.blockDimZ = 1;
  return one;
}

// As CUDA 2 launched.
template <typename Launch>
CUresult LaunchOld(uint64_t bytes, Launch launch) {
  return WithKernel(bytes, [&](CUfunction kernel) {
    FirstFailure launched;
    launched << CU_AS(cuFuncSetBlockShape, CUfunction, int, int, int)(kernel, 1, 1, 1)
             << launch(kernel);
    return launched.result;
  });
}
template <typename Function>
CUresult LaunchBy(uint64_t bytes, Function* function) {
  return WithKernel(bytes, [&](CUfunction kernel) {
    return function(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  });
}
template <typename Function>
CUresult LaunchTogetherBy(uint64_t bytes, Function* function) {
  return WithKernel(bytes, [&](CUfunction kernel) {
    return function(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr);
  });
}
template <typename Function>
CUresult LaunchExBy(uint64_t bytes, Function* function) {
  return WithKernel(bytes, [&](CUfunction kernel) {
    const CUlaunchConfig one = One();
    return function(&one, kernel, nullptr, nullptr);
  });
}

constexpr int kThreads = 0;       // CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
constexpr int kSharedAtMost = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

constexpr Step kSteps[] = {
    {"cuModuleLoadData cuModuleUnload", [](uint64_t) { return Load(0); }, Unload,
     "the first, small"},
    {"cuModuleLoadData cuModuleUnload", [](uint64_t) { return Load(0); }, Unload, "a small one"},
    {"cuModuleLoadData cuModuleUnload", Load, Unload},
    {"cuModuleLoadDataEx",
     [](uint64_t bytes) {
       return CU(cuModuleLoadDataEx)(&module, Ptx(bytes).c_str(), 0, nullptr, nullptr);
     },
     Unload},
    {"cuModuleLoad",
     [](uint64_t bytes) { return CU(cuModuleLoad)(&module, PtxFile(bytes).c_str()); }, Unload},
    {"cuModuleLoadFatBinary",
     [](uint64_t bytes) { return CU(cuModuleLoadFatBinary)(&module, FatBinary(bytes).data()); },
     Unload},
    {"cuModuleGetFunction",
     [](uint64_t bytes) {
       return Loaded(bytes, [] {
         CUfunction kernel = nullptr;
         return CU(cuModuleGetFunction)(&kernel, module, "empty");
       });
     },
     Unload},
    {"cuModuleGetGlobal_v2",
     [](uint64_t bytes) {
       return Loaded(bytes, [] {
         CUdeviceptr address = 0;
         return CU(cuModuleGetGlobal_v2)(&address, nullptr, module, "table");
       });
     },
     Unload},
    {"cuModuleGetGlobal",
     [](uint64_t bytes) {
       return Loaded(bytes, [] {
         unsigned size = 0;
         return CU(cuModuleGetGlobal)(nullptr, &size, module, "table");
       });
     },
     Unload},
    {"cuLibraryLoadData cuLibraryUnload", LoadLibrary, UnloadLibrary},
    {"cuLibraryLoadFromFile",
     [](uint64_t bytes) {
       return CU(cuLibraryLoadFromFile)(&library, PtxFile(bytes).c_str(), nullptr, nullptr, 0,
                                        nullptr, nullptr, 0);
     },
     UnloadLibrary},
    {"cuLibraryGetModule",
     [](uint64_t bytes) {
       return LoadedLibrary(bytes, [] {
         CUmodule of_library = nullptr;
         return CU(cuLibraryGetModule)(&of_library, library);
       });
     },
     UnloadLibrary},
    {"cuLibraryGetGlobal",
     [](uint64_t bytes) {
       return LoadedLibrary(bytes, [] {
         CUdeviceptr address = 0;
         size_t size = 0;
         return CU(cuLibraryGetGlobal)(&address, &size, library, "table");
       });
     },
     UnloadLibrary},
    {"cuLibraryGetKernel cuKernelGetFunction",
     [](uint64_t bytes) {
       return LoadedLibrary(bytes, [] {
         CUkernel kernel = nullptr;
         CUfunction function = nullptr;
         FirstFailure got;
         got << CU(cuLibraryGetKernel)(&kernel, library, "empty")
             << CU(cuKernelGetFunction)(&function, kernel);
         return got.result;
       });
     },
     UnloadLibrary},
    {"cuLibraryEnumerateKernels",
     [](uint64_t bytes) {
       return LoadedLibrary(bytes, [] {
         CUkernel kernel = nullptr;
         return CU(cuLibraryEnumerateKernels)(&kernel, 1, library);
       });
     },
     UnloadLibrary},
    {"cuFuncLoad",
     [](uint64_t bytes) {
       return WithKernel(bytes, [](CUfunction kernel) { return CU(cuFuncLoad)(kernel); });
     },
     Unload},
    {"cuFuncGetAttribute",
     [](uint64_t bytes) {
       return WithKernel(bytes, [](CUfunction kernel) {
         int threads = 0;
         return CU(cuFuncGetAttribute)(&threads, kThreads, kernel);
       });
     },
     Unload},
    {"cuFuncSetAttribute",
     [](uint64_t bytes) {
       return WithKernel(bytes, [](CUfunction kernel) {
         return CU(cuFuncSetAttribute)(kernel, kSharedAtMost, 0);
       });
     },
     Unload},
};

constexpr Step kLaunchSteps[] = {
    {"cuLaunchKernel", [](uint64_t bytes) { return LaunchBy(bytes, CU(cuLaunchKernel)); }, Unload},
    {"cuLaunchKernel_ptsz", [](uint64_t bytes) { return LaunchBy(bytes, CU(cuLaunchKernel_ptsz)); },
     Unload},
    {"cuLaunchKernelEx", [](uint64_t bytes) { return LaunchExBy(bytes, CU(cuLaunchKernelEx)); },
     Unload},
    {"cuLaunchKernelEx_ptsz",
     [](uint64_t bytes) { return LaunchExBy(bytes, CU(cuLaunchKernelEx_ptsz)); }, Unload},
    {"cuLaunchCooperativeKernel",
     [](uint64_t bytes) { return LaunchTogetherBy(bytes, CU(cuLaunchCooperativeKernel)); }, Unload},
    {"cuLaunchCooperativeKernel_ptsz",
     [](uint64_t bytes) { return LaunchTogetherBy(bytes, CU(cuLaunchCooperativeKernel_ptsz)); },
     Unload},
    {"cuLaunchCooperativeKernelMultiDevice",
     [](uint64_t bytes) {
       return WithKernel(bytes, [](CUfunction kernel) {
         CUDA_LAUNCH_PARAMS one{};
         one.function = kernel;
         one.gridDimX = one.gridDimY = one.gridDimZ = 1;
         one.blockDimX = one.blockDimY = one.blockDimZ = 1;
         one.hStream = NewStream();
         return CU(cuLaunchCooperativeKernelMultiDevice)(&one, 1, 0);
       });
     },
     Unload},
    {"cuLaunch",
     [](uint64_t bytes) {
       return LaunchOld(bytes, [](CUfunction kernel) { return CU(cuLaunch)(kernel); });
     },
     Unload},
    {"cuLaunchGrid",
     [](uint64_t bytes) {
       return LaunchOld(bytes, [](CUfunction kernel) { return CU(cuLaunchGrid)(kernel, 1, 1); });
     },
     Unload},
    {"cuLaunchGridAsync",
     [](uint64_t bytes) {
       return LaunchOld(
           bytes, [](CUfunction kernel) { return CU(cuLaunchGridAsync)(kernel, 1, 1, nullptr); });
     },
     Unload},
};

}  // namespace

std::span<const Step> ModuleSteps() {
  return kSteps;
}
std::span<const Step> LaunchSteps() {
  return kLaunchSteps;
}

}  // namespace tessera::card
