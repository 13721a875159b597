// SPDX-License-Identifier: Apache-2.0
#pragma once

// The entry for programs that look functions up by name. limiter/hook/entry.cc exports dlsym and
// dlvsym, which ask here first. Any thread.

namespace tessera::limiter {

// The result of a lookup: either continue in the loader's own function, which then sees the program
// as its caller, or return the answer. Two registers on every platform.
struct Route {
  void* next;  // null: the answer is final
  void* answer;
};

// The answer is a hook only if the lookup without the limiter would have found a driver's function,
// and only for names in functions.def or nvml.def. A version is passed on; most drivers have none.
Route RouteLookup(void* handle, const char* name, const void* caller);
Route RouteVersionLookup(void* handle, const char* name, const char* version, const void* caller);

}  // namespace tessera::limiter
