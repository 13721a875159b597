// SPDX-License-Identifier: Apache-2.0
// The policy for a process without limits, or without a part in the container's accounting: open or
// closed. The library's build decides, or a file that no process of the container can write. No
// variable does.
#pragma once

#include "limiter/limits/limits.h"

namespace tessera::limiter {

#ifdef TESSERA_LIMITER_CLOSED
inline constexpr bool kClosed = true;
#else
inline constexpr bool kClosed = false;
#endif

// True on a read-only mount: no program in the container can write there, but the maker of the
// container may have.
bool IsOnReadOnlyMount(int file);

// Sets limits->closed from the file (contract.h); `built` holds without one. A file that has
// another content, or is not the node's, means closed. limits->reason then has the error.
void ReadPolicy(const char* path, bool built, const Mounts& mounts, Limits* limits);

}  // namespace tessera::limiter
