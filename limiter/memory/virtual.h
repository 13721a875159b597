// SPDX-License-Identifier: Apache-2.0
// Handles of physical memory, for whatever it is mapped into. Any thread.
#pragma once

#include <cstdint>

#include "limiter/driver/cuda.h"

namespace tessera::limiter {

// Once for each place where memory is mapped, before the driver is asked: a release at the same
// time does not take the last count away then. False: it is not counted here, nor to be unmapped.
bool CountMapping(CUmemGenericAllocationHandle handle);
// So many bytes of a place were past the limit; 0: none were.
struct LimitExcess {
  int place = -1;
  uint64_t bytes = 0;
};
// Of what was imported these first bytes are used here, and counted, unless somebody of the
// container has them counted. What is lacking is the caller's to say, once it holds no lock.
LimitExcess CountImported(CUmemGenericAllocationHandle handle, uint64_t bytes);
bool IsImported(CUmemGenericAllocationHandle handle);
// The bytes are free with the last one, if the handle was released.
void UncountMapping(CUmemGenericAllocationHandle handle);

}  // namespace tessera::limiter
