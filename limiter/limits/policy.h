// SPDX-License-Identifier: Apache-2.0
// What it means that a process has no limits, or that they are not the container's together: open
// or closed, as the library was built or as a file says that no process of the container writes. No
// variable says it.
#pragma once

#include "limiter/limits/limits.h"

namespace tessera::limiter {

#ifdef TESSERA_LIMITER_CLOSED
inline constexpr bool kClosed = true;
#else
inline constexpr bool kClosed = false;
#endif

// No program in the container writes there; whoever makes the container may have.
bool IsOnReadOnlyMount(int file);

// Fills in limits->closed by the file (contract.h); `built` holds without one. What is not
// understood is closed, for it says something, and is said in limits->reason; so is what is not the
// node's.
void ReadPolicy(const char* path, bool built, const Mounts& mounts, Limits* limits);

}  // namespace tessera::limiter
