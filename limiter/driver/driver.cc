// SPDX-License-Identifier: Apache-2.0
#include "limiter/driver/driver.h"

#include "limiter/driver/bound.h"

namespace tessera::limiter {
namespace {

// Code instead of a table of addresses, which the loader would have to relocate in every process.
template <CUresult answer>
void Answer(void* (&functions)[kFunctionCount]) {
  size_t i = 0;
#define HOOKED(name, since) \
  functions[i++] = reinterpret_cast<void*>(&Absent<answer, decltype(&::name)>::Call);
#define CALLED(name, since) HOOKED(name, since)
#include "limiter/driver/functions.def"
}

struct Libcuda {
  using Table = Driver;
  static constexpr size_t kCount = kFunctionCount;
  static const char* NameOf(size_t i) { return limiter::NameOf(static_cast<Function>(i)); }
  static const char* FirstMark() { return "cuInit"; }
  static const char* SecondMark() { return "cuDriverGetVersion"; }
  static void AnswerAlways(bool is_there, void* (&functions)[kCount]) {
    if (is_there) {
      Answer<CUDA_ERROR_NOT_SUPPORTED>(functions);
    } else {
      Answer<CUDA_ERROR_NOT_INITIALIZED>(functions);
    }
  }
};

constinit Bound<Libcuda> libcuda;

}  // namespace

const Driver& TheDriver() {
  return libcuda.Get();
}
bool TakeDriver(const void* address) {
  return libcuda.Take(address);
}
bool AnyDriverHas(const char* name) {
  return libcuda.AnyHas(name);
}
void LookForDriverAnew() {
  libcuda.LookAnew();
}
Function FunctionAt(const void* address) {
  return static_cast<Function>(libcuda.IndexAt(address));
}

}  // namespace tessera::limiter
