// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// The functions of functions.def that the limiter hooks or calls. Constants: any thread.

namespace tessera::limiter {

// One value for each, in the order of functions.def.
enum class Function : uint16_t {
#define HOOKED(name, since) name,
#define CALLED(name, since) name,
#include "limiter/driver/functions.def"
  kCount,
  kNone = kCount,
};
constexpr size_t kFunctionCount = static_cast<size_t>(Function::kCount);

// The newest version of CUDA in functions.def.
constexpr int kNewestCuda = 13050;

// The function that libcuda.so.1 exports under this name; kNone: it is passed on.
Function FunctionNamed(const char* name);
// The name of that function.
const char* NameOf(Function function);
// The function that a driver returns for that symbol, in that version of CUDA (12040 for 12.4).
// kNone: it is passed on.
Function FunctionOfVersion(const char* symbol, int version, bool per_thread_stream);
// The program's replacement for the driver's function (not kNone); null if the limiter only calls
// it.
void* HookOf(Function function);

}  // namespace tessera::limiter
