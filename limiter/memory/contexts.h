// SPDX-License-Identifier: Apache-2.0
// Contexts, for whoever counts what is in them. Any thread.
#pragma once

#include <atomic>

#include "limiter/driver/cuda.h"

namespace tessera::limiter {

// Whose all is that is allocated in a context: of a green one (green.cc) the primary context, else
// its own.
inline constinit std::atomic<bool> has_green_contexts{false};
CUcontext OwnerOf(CUcontext context);
// Of the calling thread's context; null: there is none.
CUcontext CurrentOwner();

// The primary context that this process retained; null: none.
CUcontext PrimaryOf(CUdevice device);
// Contexts of a place that were made when nobody knew what one takes are counted, if somebody found
// out since: past the limit if need be.
void CountLate(int place);

}  // namespace tessera::limiter
