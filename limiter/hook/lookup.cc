// SPDX-License-Identifier: Apache-2.0
#include "limiter/hook/lookup.h"

#include <dlfcn.h>

#include "limiter/driver/driver.h"
#include "limiter/elf/object.h"
#include "limiter/hook/loader.h"

namespace tessera::limiter {
namespace {

const char anchor = 0;  // an address of the limiter's

bool IsOurs(const Object& object) {
  return object.Contains(&anchor);
}

bool IsOurs(const void* address) {
  Object object;
  return ObjectOf(address, &object) && IsOurs(object);
}

// The hook that stands for a name; null for every other name, which costs two comparisons.
void* HookNamed(const char* name) {
  if (name == nullptr || name[0] != 'c' || name[1] != 'u') return nullptr;
  const Function function = FunctionNamed(name);
  return function != Function::kNone ? HookOf(function) : nullptr;
}

// What RTLD_NEXT means to the caller: the first definition behind it in the loader's list, the
// limiter's left out.
void* NextAfter(const void* caller, const char* name) {
  void* found = nullptr;
  bool passed = false;
  AnyObject([&](const Object& object) {
    if (passed && !IsOurs(object)) found = object.Function(name);
    passed = passed || object.Contains(caller);
    return found != nullptr;
  });
  return found;
}

// A library that stands for the driver itself and looks for what it stands before must be given
// that, or it would call itself without end.
bool StandsBefore(const void* caller, const char* name) {
  Object object;
  return ObjectOf(caller, &object) && object.Function(name) != nullptr;
}

bool IsProgram(const void* caller) {
  Object object;
  return ObjectOf(caller, &object) && object.IsProgram();
}

// `ask(handle)` is the loader's own lookup of the name, as the limiter would ask.
template <typename Ask>
void* Answer(void* handle, const char* name, const void* caller, void* hook, Ask ask) {
  void* real = handle == RTLD_NEXT ? NextAfter(caller, name) : ask(handle);
  if (handle == RTLD_NEXT && real == nullptr) return ask(RTLD_NEXT);  // for what dlerror() says
  if (real == nullptr) return nullptr;
  if (handle == RTLD_NEXT && StandsBefore(caller, name)) return real;
  if (!IsOurs(real)) return TakeDriver(real) ? hook : real;
  // The limiter was found, which is in every process: what would have been, had it not been there?
  // A library may see more than the limiter: what it was opened with.
  real = ask(RTLD_NEXT);
  if (real != nullptr) return TakeDriver(real) ? hook : real;
  return !IsProgram(caller) && AnyDriverHas(name) ? hook : nullptr;
}

}  // namespace

Route RouteLookup(void* handle, const char* name, const void* caller) {
  void* own = TheLoaders(LoaderFunction::kDlsym);
  void* hook = HookNamed(name);
  if (own == nullptr || hook == nullptr) return {own, nullptr};
  const auto ask = [&](void* where) {
    return reinterpret_cast<void* (*)(void*, const char*)>(own)(where, name);
  };
  return {nullptr, Answer(handle, name, caller, hook, ask)};
}

Route RouteVersionLookup(void* handle, const char* name, const char* version, const void* caller) {
  void* own = TheLoaders(LoaderFunction::kDlvsym);
  void* hook = HookNamed(name);
  if (own == nullptr || hook == nullptr) return {own, nullptr};
  const auto ask = [&](void* where) {
    return reinterpret_cast<void* (*)(void*, const char*, const char*)>(own)(where, name, version);
  };
  return {nullptr, Answer(handle, name, caller, hook, ask)};
}

}  // namespace tessera::limiter
