// SPDX-License-Identifier: Apache-2.0
// The limiter library, Tessera's or HAMi-core: the mounts and variables by which a container gets
// it and its limits. Both use HAMi's names of variables and files. Tessera's takes the limits from
// a file on the node (limiter/contract.h). Pure; any thread.
#pragma once

#include "grant/enforcer.h"

namespace tessera::nvidia {

const Enforcer& Limiter();

}  // namespace tessera::nvidia
