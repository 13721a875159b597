// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// What functions.def says of the functions that the limiter hooks or calls. Constants: any thread.

namespace tessera::limiter {

// One place for each, in the order of functions.def.
enum class Function : uint16_t {
#define HOOKED(name, since) name,
#define CALLED(name, since) name,
#include "limiter/driver/functions.def"
  kCount,
  kNone = kCount,
};
constexpr size_t kFunctionCount = static_cast<size_t>(Function::kCount);

// The newest version of CUDA whose functions functions.def has.
constexpr int kNewestCuda = 13050;

// The function that libcuda.so.1 exports under this name; kNone for one that is passed on.
Function FunctionNamed(const char* name);
// The name of that function.
const char* NameOf(Function function);
// The function that a driver means where it is asked for that symbol, as CUDA of that version
// (12040 for 12.4) knows it. kNone for one that is passed on.
Function FunctionOfVersion(const char* symbol, int version, bool per_thread_stream);
// What a program is given instead of the driver's function (not kNone); null for one that is only
// called.
void* HookOf(Function function);

}  // namespace tessera::limiter
