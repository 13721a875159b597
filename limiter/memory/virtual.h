// SPDX-License-Identifier: Apache-2.0
// Handles of physical memory, for everything into which it is mapped. Any thread.
#pragma once

#include <cstdint>

#include "limiter/driver/cuda.h"

namespace tessera::limiter {

// Counts one mapping before the driver is called: so a release at the same moment does not remove
// the last count. False: unknown handle; do not uncount it.
bool CountMapping(CUmemGenericAllocationHandle handle);
// Bytes of a place that were past the limit; 0: none.
struct LimitExcess {
  int place = -1;
  uint64_t bytes = 0;
};
// Counts the first bytes of an imported handle, unless another process of the container is charged
// for them. The caller reports an excess once it holds no lock.
LimitExcess CountImported(CUmemGenericAllocationHandle handle, uint64_t bytes);
bool IsImported(CUmemGenericAllocationHandle handle);
// Uncounts one mapping. The bytes are free with the last one, if the handle was released.
void UncountMapping(CUmemGenericAllocationHandle handle);

}  // namespace tessera::limiter
