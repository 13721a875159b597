// SPDX-License-Identifier: Apache-2.0
// The directories and files of the limiting library that a container mounts. No two containers
// share a directory. Stateless. Any thread; waits for disks.
#pragma once

#include "base/result.h"
#include "binding/binding_store.h"
#include "grant/grant.h"
#include "os/files.h"

namespace tessera {

// Makes the directories and files that all containers share, if they are missing. kPermission:
// another user put something in a directory's place, or could. kBadMount: a file system is mounted
// in between.
Status MakeSharedFiles(const os::Root& root, const FractionRules& fractions);

// Then makes what the container's own mounts need, if it is missing: its directories, limits and
// region. Last the gate, if the grant has one. May be repeated: what is right stays. `answer`:
// Allocate's answer, as kubelet keeps it.
// - kNotEnforced: the library is missing;
// - kPermission: another user put something in a directory's place;
// - kBadMount: a mount of the answer has a wrong source;
// - kNoGate: the device node cannot be made, or is useless there.
Status MakeGrantFiles(const os::Root& root, const FractionRules& fractions, const std::string& name,
                      const BindingRecord& record, const Grant& answer);
// Removes the grant's limits.
void RemoveLimits(const os::Root& root, const std::string& name, const BindingRecord& record);
// The grant's lock directory, in which the container may write. It need not exist.
std::string LocksOf(const BindingRecord& record, const std::string& name);

// The library that the container loads, on the host: the one that it was bound with, while that
// exists, else the configuration's.
std::string LibraryOf(const os::Root& root, const FractionRules& fractions,
                      const BindingRecord& record);

// Whether that is not the configuration's, and its processes need a lock (HAMi-core).
bool FormerWantsLock(const os::Root& root, const FractionRules& fractions,
                     const BindingRecord& record);

// Whether the node has the library's licence files.
bool IsLicensed(const os::Root& root, const FractionRules& fractions);

}  // namespace tessera
