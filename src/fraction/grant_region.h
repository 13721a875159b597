// SPDX-License-Identifier: Apache-2.0
// The region that the processes of a container share (limiter/contract.h), made before the first of
// them starts: so that nobody else can fill it in, and there is something to be read from the first
// second. Any thread; waits for disks.
#pragma once

#include <string>

#include "base/result.h"
#include "binding/binding_store.h"
#include "grant/grant.h"
#include "os/files.h"

namespace tessera {

// Puts it into the container's directory, complete, where nothing of its name is; what is there is
// the container's. Nothing where the enforcer says that the library makes its own.
Status MakeRegion(const os::Root& root, const FractionRules& fractions, const std::string& name,
                  const BindingRecord& record);

}  // namespace tessera
