// SPDX-License-Identifier: Apache-2.0
#include "limiter/driver/nvml.h"

#include <cstring>

#include "limiter/driver/bound.h"

namespace tessera::limiter {
namespace {

constexpr char kText[] =
#define HOOKED(name) #name "\0"
#define CALLED(name) #name "\0"
#include "limiter/driver/nvml.def"
    ;

constexpr size_t kNvmlCount = sizeof(Nvml) / sizeof(void*);

template <nvmlReturn_t answer>
void Answer(void* (&functions)[kNvmlCount]) {
  size_t i = 0;
#define HOOKED(name) \
  functions[i++] = reinterpret_cast<void*>(&Absent<answer, decltype(&::name)>::Call);
#define CALLED(name) HOOKED(name)
#include "limiter/driver/nvml.def"
}

struct Libnvml {
  using Table = Nvml;
  static constexpr size_t kCount = kNvmlCount;
  static const char* NameOf(size_t i) {
    const char* name = kText;
    while (i-- > 0) name += strlen(name) + 1;
    return name;
  }
  static const char* FirstMark() { return "nvmlInit_v2"; }
  static const char* SecondMark() { return "nvmlShutdown"; }
  static void AnswerAlways(bool is_there, void* (&functions)[kCount]) {
    if (is_there) {
      Answer<NVML_ERROR_FUNCTION_NOT_FOUND>(functions);
    } else {
      Answer<NVML_ERROR_UNINITIALIZED>(functions);
    }
  }
};

constinit Bound<Libnvml> libnvml;

}  // namespace

const Nvml& TheNvml() {
  return libnvml.Get();
}
bool TakeNvml(const void* address) {
  return libnvml.Take(address);
}
bool AnyNvmlHas(const char* name) {
  return libnvml.AnyHas(name);
}
void LookForNvmlAnew() {
  libnvml.LookAnew();
}

void* NvmlHookNamed(const char* name) {
#define HOOKED(hook) \
  if (strcmp(name, #hook) == 0) return reinterpret_cast<void*>(&::hook);
#include "limiter/driver/nvml.def"
  return nullptr;
}

}  // namespace tessera::limiter
