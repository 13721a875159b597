// SPDX-License-Identifier: Apache-2.0
#include "limiter/hook/lookup.h"

#include <dlfcn.h>

#include "limiter/driver/driver.h"
#include "limiter/driver/nvml.h"
#include "limiter/elf/object.h"
#include "limiter/hook/loader.h"

namespace tessera::limiter {
namespace {

const char kAnchor = 0;  // an address in the limiter

bool IsOurs(const Object& object) {
  return object.Contains(&kAnchor);
}

bool IsOurs(const void* address) {
  Object object;
  return ObjectOf(address, &object) && IsOurs(object);
}

// The hook of a name, and the library that the hook stands in for.
struct Target {
  void* hook = nullptr;  // null for nearly every name, after a few comparisons
  bool is_nvml = false;

  bool Take(const void* address) const { return is_nvml ? TakeNvml(address) : TakeDriver(address); }
  bool AnyHas(const char* name) const { return is_nvml ? AnyNvmlHas(name) : AnyDriverHas(name); }
};

Target TargetOf(const char* name) {
  if (name == nullptr) return {};
  if (name[0] == 'c' && name[1] == 'u') {
    const Function function = FunctionNamed(name);
    return {function != Function::kNone ? HookOf(function) : nullptr, false};
  }
  if (name[0] == 'n' && name[1] == 'v') return {NvmlHookNamed(name), true};
  return {};
}

// The lookup of RTLD_NEXT for the caller: the first definition behind it in the loader's list,
// without the limiter.
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

// True for a library that itself stands in for the driver and looks up the real function. It must
// get that one, or it would call itself without end.
bool StandsBefore(const void* caller, const char* name) {
  Object object;
  return ObjectOf(caller, &object) && object.Function(name) != nullptr;
}

bool IsProgram(const void* caller) {
  Object object;
  return ObjectOf(caller, &object) && object.IsProgram();
}

// ask(handle) is the loader's own lookup of the name, with the limiter as caller.
template <typename Ask>
void* Answer(void* handle, const char* name, const void* caller, const Target& target, Ask ask) {
  void* real = handle == RTLD_NEXT ? NextAfter(caller, name) : ask(handle);
  if (handle == RTLD_NEXT && real == nullptr) return ask(RTLD_NEXT);  // for what dlerror() says
  if (real == nullptr) return nullptr;
  if (handle == RTLD_NEXT && StandsBefore(caller, name)) return real;
  if (!IsOurs(real)) return target.Take(real) ? target.hook : real;
  // The lookup found the limiter, which is in every process. Find its result without the limiter: a
  // library may see more objects than the limiter does, namely those it was opened with.
  real = ask(RTLD_NEXT);
  if (real != nullptr) return target.Take(real) ? target.hook : real;
  return !IsProgram(caller) && target.AnyHas(name) ? target.hook : nullptr;
}

}  // namespace

Route RouteLookup(void* handle, const char* name, const void* caller) {
  void* own = TheLoaders(LoaderFunction::kDlsym);
  const Target target = TargetOf(name);
  if (own == nullptr || target.hook == nullptr) return {own, nullptr};
  const auto ask = [&](void* where) {
    return reinterpret_cast<void* (*)(void*, const char*)>(own)(where, name);
  };
  return {nullptr, Answer(handle, name, caller, target, ask)};
}

Route RouteVersionLookup(void* handle, const char* name, const char* version, const void* caller) {
  void* own = TheLoaders(LoaderFunction::kDlvsym);
  const Target target = TargetOf(name);
  if (own == nullptr || target.hook == nullptr) return {own, nullptr};
  const auto ask = [&](void* where) {
    return reinterpret_cast<void* (*)(void*, const char*, const char*)>(own)(where, name, version);
  };
  return {nullptr, Answer(handle, name, caller, target, ask)};
}

}  // namespace tessera::limiter
