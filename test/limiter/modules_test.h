// SPDX-License-Identifier: Apache-2.0
// For tests of memory that code takes.
#pragma once

#include <cstdio>
#include <string>

#include "limiter/memory_test.h"

namespace tessera::limiter {

inline constexpr char kSmall[] = ".visible .entry spin(.param .u64 ns) {}";

class ModulesTest : public MemoryTest {
 protected:
  // A module with a variable of so many bytes.
  static std::string WithVariable(uint64_t bytes) {
    return std::string(kSmall) + "\n.global .align 4 .b8 table[" + std::to_string(bytes) + "];\n";
  }
  static CUmodule Load(const std::string& text, CUresult expected = CUDA_SUCCESS) {
    CUmodule module = nullptr;
    EXPECT_EQ(cuModuleLoadData(&module, text.c_str()), expected);
    return module;
  }
  void Options(const std::string& options) {
    node_.Set("TESSERA_FAKE_CUDA_OPTIONS", "context-mib=0," + options);
  }
  static void Write(const std::string& path, const char* text) {
    FILE* const file = fopen(path.c_str(), "w");
    fputs(text, file);
    fclose(file);
  }
  CUfunction EnumeratedIn(CUmodule module) {
    CUfunction function = nullptr;
    using Enumerate = CUresult(CUfunction*, unsigned, CUmodule);
    EXPECT_EQ(cuda().As<Enumerate>("cuModuleEnumerateFunctions")(&function, 1, module),
              CUDA_SUCCESS);
    return function;
  }
  static CUresult Launch(CUfunction function, CUstream stream = nullptr) {
    uint64_t ns = 1;
    void* parameters[] = {&ns};
    return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
  }
  static uint64_t Shown() { return TheRegion()->hami.slots[OwnSlot()].used[0].module; }
};

}  // namespace tessera::limiter
