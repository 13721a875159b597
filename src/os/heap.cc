// SPDX-License-Identifier: Apache-2.0
#include "os/heap.h"

#include <malloc.h>

namespace tessera::os {

void KeepHeapSmall() {
  // Once set, glibc no longer raises them by itself.
  constexpr int kLarge = 128 * 1024;
  // NOLINTBEGIN(concurrency-mt-unsafe): before any thread
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_TRIM_THRESHOLD, kLarge);
  mallopt(M_ARENA_MAX, 1);
  // NOLINTEND(concurrency-mt-unsafe)
}

}  // namespace tessera::os
