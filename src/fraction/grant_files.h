// SPDX-License-Identifier: Apache-2.0
// The directories and files of the limiting library that a container finds. No directory is shared
// by two of them. Any thread; waits for disks.
#pragma once

#include "base/result.h"
#include "binding/binding_store.h"
#include "grant/grant.h"
#include "os/files.h"

namespace tessera {

// Makes what all containers' files lie in, where it is not there yet.
// kPermission where somebody else has put something in a directory's place, or could; kBadMount
// where a file system is mounted in between.
Status MakeSharedFiles(const os::Root& root, const FractionRules& fractions);

// After that, what the container's own mounts are of, where it is not there yet, its limits among
// them; then the gate of a grant that has one, in a directory of the agent's user alone. `answer`:
// as kubelet keeps it.
// kNotEnforced without the library, kPermission where somebody else has put something in a
// directory's place, kBadMount where a mount of the answer would not be what it was meant to be,
// kNoGate where a device node cannot be made or is of no use.
Status MakeGrantFiles(const os::Root& root, const FractionRules& fractions, const std::string& name,
                      const BindingRecord& record, const Grant& answer);
// Takes its limits away again.
void RemoveLimits(const os::Root& root, const std::string& name, const BindingRecord& record);
// The directory of its lock, in which the container may write; none where the library has no lock.
std::string LocksOf(const BindingRecord& record, const std::string& name);

// The library that the container loads, on the host: the one that it was bound with as long as that
// is there, else the configuration's.
std::string LibraryOf(const os::Root& root, const FractionRules& fractions,
                      const BindingRecord& record);

// Whether that is another than the configuration's, and wants a lock for its processes (HAMi-core).
bool FormerWantsLock(const os::Root& root, const FractionRules& fractions,
                     const BindingRecord& record);

// Whether there is a licence for the library, and what looks at it.
bool IsLicensed(const os::Root& root, const FractionRules& fractions);

}  // namespace tessera
