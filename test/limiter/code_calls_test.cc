// SPDX-License-Identifier: Apache-2.0
// Every function that makes a driver load code that it loads lazily, and the functions by which a
// program gets a kernel.
#include <functional>
#include <string>
#include <vector>

#include "limiter/modules_test.h"

namespace tessera::limiter {
namespace {

class CodeCallsTest : public ModulesTest {
 protected:
  struct Way {
    const char* name;
    uint64_t mib;  // with the variables of the module
    std::function<CUresult()> call;
  };

  static CUlibrary LoadLibrary(const std::string& text = kSmall) {
    CUlibrary library = nullptr;
    EXPECT_EQ(cuLibraryLoadData(&library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
              CUDA_SUCCESS);
    return library;
  }
  static CUkernel KernelOf(CUlibrary library) {
    CUkernel kernel = nullptr;
    EXPECT_EQ(cuLibraryGetKernel(&kernel, library, "spin"), CUDA_SUCCESS);
    return kernel;
  }
  static CUkernel EnumeratedKernelOf(CUlibrary library) {
    CUkernel kernel = nullptr;
    EXPECT_EQ(cuLibraryEnumerateKernels(&kernel, 1, library), CUDA_SUCCESS);
    return kernel;
  }
  // Each way uses another module or library.
  std::vector<Way> Ways() {
    return {
        {"cuModuleGetFunction", 600,
         [] {
           CUfunction function = nullptr;
           return cuModuleGetFunction(&function, Load(kSmall), "spin");
         }},
        {"cuModuleGetGlobal_v2", 602,
         [] {
           CUdeviceptr variable = 0;
           return cuModuleGetGlobal_v2(&variable, nullptr, Load(WithVariable(4)), "table");
         }},
        {"cuModuleGetGlobal", 602,
         [] {
           unsigned bytes = 0;
           return cuModuleGetGlobal(nullptr, &bytes, Load(WithVariable(4)), "table");
         }},
        {"cuLibraryGetModule", 600,
         [] {
           CUmodule module = nullptr;
           return cuLibraryGetModule(&module, LoadLibrary());
         }},
        {"cuLibraryGetGlobal", 602,
         [] {
           CUdeviceptr variable = 0;
           return cuLibraryGetGlobal(&variable, nullptr, LoadLibrary(WithVariable(4)), "table");
         }},
        {"cuFuncLoad", 600, [this] { return cuFuncLoad(EnumeratedIn(Load(kSmall))); }},
        {"cuFuncGetAttribute", 600,
         [this] {
           int value = 0;
           return cuFuncGetAttribute(&value, 0, EnumeratedIn(Load(kSmall)));
         }},
        {"cuFuncSetAttribute", 600,
         [this] { return cuFuncSetAttribute(EnumeratedIn(Load(kSmall)), 8, 1024); }},
        {"cuKernelGetFunction", 600,
         [] {
           CUfunction function = nullptr;
           return cuKernelGetFunction(&function, KernelOf(LoadLibrary()));
         }},
        {"cuKernelGetFunction of one that was enumerated", 600,
         [] {
           CUfunction function = nullptr;
           return cuKernelGetFunction(&function, EnumeratedKernelOf(LoadLibrary()));
         }},
        {"cuLaunchKernel of one that was enumerated", 600,
         [] { return Launch(reinterpret_cast<CUfunction>(EnumeratedKernelOf(LoadLibrary()))); }},
    };
  }
};

TEST_F(CodeCallsTest, CodeThatACallLoadsIsCountedWithIt) {
  // The former way's process still has its memory when the next one calls.
  Options("module-mib=600,lazy=1,late-ms=100");
  for (const Way& way : Ways()) {
    SCOPED_TRACE(way.name);
    Run([&] {
      EXPECT_EQ(way.call(), CUDA_SUCCESS);
      EXPECT_EQ(Shown(), way.mib * kMiB);
      EXPECT_EQ(way.call(), CUDA_ERROR_OUT_OF_MEMORY);
    });
  }
}

TEST_F(CodeCallsTest, CodeOfAKernelThatWasEnumeratedGoesWithItsLibrary) {
  Options("module-mib=20,lazy=1");
  Run([&] {
    const CUlibrary library = LoadLibrary();
    EXPECT_EQ(Launch(reinterpret_cast<CUfunction>(EnumeratedKernelOf(library))), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), 20 * kMiB);
    EXPECT_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), 0u);
  });
}

TEST_F(CodeCallsTest, AFatBinaryIsCountedUntilItIsUnloaded) {
  Options("module-mib=20");
  Run([&] {
    CUmodule module = nullptr;
    EXPECT_EQ(cuModuleLoadFatBinary(&module, kSmall), CUDA_SUCCESS);
    ExpectTrue(20);
    EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

}  // namespace
}  // namespace tessera::limiter
