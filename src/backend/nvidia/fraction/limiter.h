// SPDX-License-Identifier: Apache-2.0
// The library that holds CUDA's programs to their parts of GPUs, Tessera's or HAMi-core: how a
// container gets it and what it is told. Both read variables and files with the names that HAMi
// has; Tessera's takes the limits from a file of the node's (limiter/contract.h). Pure; any thread.
#pragma once

#include "grant/enforcer.h"

namespace tessera::nvidia {

const Enforcer& Limiter();

}  // namespace tessera::nvidia
