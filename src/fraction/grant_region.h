// SPDX-License-Identifier: Apache-2.0
// The region that a container's processes share (limiter/contract.h). The agent makes it before the
// first process starts: no other process can fill it in, and it can be read from the first second.
// Stateless. Any thread; waits for disks.
#pragma once

#include <string>

#include "base/result.h"
#include "binding/binding_store.h"
#include "grant/grant.h"
#include "os/files.h"

namespace tessera {

// Puts a complete region into the container's directory, unless something has its name; that is the
// container's. Does nothing if the library makes its own (Enforcer::OwnsRegion).
Status MakeRegion(const os::Root& root, const FractionRules& fractions, const std::string& name,
                  const BindingRecord& record);

}  // namespace tessera
