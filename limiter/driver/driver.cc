// SPDX-License-Identifier: Apache-2.0
#include "limiter/driver/driver.h"

#include <atomic>

#include "limiter/elf/object.h"

namespace tessera::limiter {
namespace {

// What answers for a function that is not there; each has the type of the one it stands for.
template <CUresult answer, typename F>
struct Absent;
template <CUresult answer, typename... Arguments>
struct Absent<answer, CUresult (*)(Arguments...)> {
  static CUresult Call(Arguments...) { return answer; }
};

// All that follows is made by whoever needs it first, without a lock, which a fork could leave
// held. Who comes at the same time makes the same again: each word has one value while a driver is
// loaded.
Driver found, absent;
std::atomic<bool> is_found;         // `found` is the driver's
std::atomic<const void*> landmark;  // an address in it; kept when it may have gone

void** Slots(Driver* driver) {
  static_assert(sizeof(Driver) == kFunctionCount * sizeof(void*));
  return reinterpret_cast<void**>(driver);
}

void Set(Driver* driver, size_t slot, void* function) {
  __atomic_store_n(&Slots(driver)[slot], function, __ATOMIC_RELAXED);
}

bool IsDriver(const Object& object) {
  return !object.Contains(&found) && object.Function("cuInit") != nullptr &&
         object.Function("cuDriverGetVersion") != nullptr;
}

bool DriverOf(const void* address, Object* driver) {
  return address != nullptr && ObjectOf(address, driver) && IsDriver(*driver);
}

bool FindDriver(Object* driver) {
  if (DriverOf(landmark.load(std::memory_order_acquire), driver)) return true;
  return AnyObject([&](const Object& object) {
    if (!IsDriver(object)) return false;
    *driver = object;
    return true;
  });
}

// Code, and no table of addresses, which would be work for the loader in every process.
template <CUresult answer>
void AnswerAlways(void* (&functions)[kFunctionCount]) {
  size_t i = 0;
#define HOOKED(name, since) \
  functions[i++] = reinterpret_cast<void*>(&Absent<answer, decltype(&::name)>::Call);
#define CALLED(name, since) HOOKED(name, since)
#include "limiter/driver/functions.def"
}

const Driver& Look() {
  Object driver;
  const bool is_there = FindDriver(&driver);
  void* functions[kFunctionCount];
  if (is_there) {
    AnswerAlways<CUDA_ERROR_NOT_SUPPORTED>(functions);
  } else {
    AnswerAlways<CUDA_ERROR_NOT_INITIALIZED>(functions);
  }
  Driver* result = is_there ? &found : &absent;
  for (size_t i = 0; i < kFunctionCount; ++i) {
    void* real = is_there ? driver.Function(NameOf(static_cast<Function>(i))) : nullptr;
    Set(result, i, real != nullptr ? real : functions[i]);
  }
  if (is_there) {
    landmark.store(driver.Function("cuInit"), std::memory_order_release);
    is_found.store(true, std::memory_order_release);
  }
  return *result;
}

}  // namespace

const Driver& TheDriver() {
  return is_found.load(std::memory_order_acquire) ? found : Look();
}

bool TakeDriver(const void* address) {
  if (FunctionAt(address) != Function::kNone) return true;
  Object driver, former;
  if (!DriverOf(address, &driver)) return false;
  if (!DriverOf(landmark.load(std::memory_order_acquire), &former)) {
    landmark.store(address, std::memory_order_release);
    is_found.store(false, std::memory_order_release);
  }
  return true;
}

bool AnyDriverHas(const char* name) {
  return AnyObject([name](const Object& object) {
    return IsDriver(object) && object.Function(name) != nullptr;
  });
}

void LookForDriverAnew() {
  if (is_found.load(std::memory_order_relaxed)) is_found.store(false, std::memory_order_release);
}

Function FunctionAt(const void* address) {
  if (!is_found.load(std::memory_order_acquire)) return Function::kNone;
  for (size_t i = 0; i < kFunctionCount; ++i) {
    if (__atomic_load_n(&Slots(&found)[i], __ATOMIC_RELAXED) == address) {
      return static_cast<Function>(i);
    }
  }
  return Function::kNone;
}

}  // namespace tessera::limiter
