// SPDX-License-Identifier: Apache-2.0
#pragma once

// The way in of programs that look functions up by name. limiter/hook/entry.cc exports dlsym and
// dlvsym, which ask here first.

namespace tessera::limiter {

// Where a lookup goes: on to the loader's own function, which then sees the caller as if the
// limiter were not there, or back with the answer. Two registers on every platform.
struct Route {
  void* next;  // null: the answer is final
  void* answer;
};

// A hook is answered only where the lookup without the limiter would have found a driver's
// function, and for no name that is not in functions.def or nvml.def. A version is passed on; most
// drivers have none.
Route RouteLookup(void* handle, const char* name, const void* caller);
Route RouteVersionLookup(void* handle, const char* name, const char* version, const void* caller);

}  // namespace tessera::limiter
