// SPDX-License-Identifier: Apache-2.0
#include "limiter/hook/loader.h"

#include <atomic>

#include "limiter/elf/object.h"

namespace tessera::limiter {
namespace {

std::atomic<void*> functions[static_cast<int>(LoaderFunction::kCount)];

void* Find(const char* name) {
  void* before = nullptr;  // in the last object before this one, as a fallback
  void* after = nullptr;
  bool passed = false;
  AnyObject([&](const Object& object) {
    if (object.Contains(&functions)) {
      passed = true;
    } else if (void* function = object.Function(name); function != nullptr) {
      (passed ? after : before) = function;
    }
    return after != nullptr;
  });
  return after != nullptr ? after : before;
}

}  // namespace

void* TheLoaders(LoaderFunction function) {
  constexpr const char* kNames[] = {"dlsym", "dlvsym", "dlclose", "dlopen"};
  std::atomic<void*>& known = functions[static_cast<int>(function)];
  void* address = known.load(std::memory_order_acquire);
  if (address == nullptr) {
    address = Find(kNames[static_cast<int>(function)]);
    known.store(address, std::memory_order_release);
  }
  return address;
}

}  // namespace tessera::limiter
