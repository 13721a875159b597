// SPDX-License-Identifier: Apache-2.0
// Finds, judges and, if there is none, makes the region's file. Any thread; no state.
#pragma once

#include <cstdint>

#include "limiter/limits/limits.h"

namespace tessera::limiter {

// Why this process does not share the container's accounting.
enum class Trouble : uint8_t {
  kNone,
  kNoPath,       // nothing names a region
  kNoLimits,     // there is none, and this process knows no limits to make one with
  kSecure,       // the program has another user's rights: it must not open its caller's file
  kUnreachable,  // it can neither be opened nor made
  kReadOnly,     // it is read-only
  kForeign,      // it is something else
  kTruncated,    // it is shorter than a region
  kOlder,        // HAMi-core's, without our part
  kOtherVersion,
  kFull,      // all slots are taken by live processes
  kNoRoom,    // this process may open, write or map no such file
  kFullDisk,  // its file system has no room for all of it
};

// What happened and what to do next, for people.
const char* Meaning(Trouble trouble);

// True if memory is denied for that reason; always where the policy is closed (Limits::closed).
// Otherwise this process keeps its limits alone, if it has any: the memory of the container's other
// processes does not count for it.
bool Denies(Trouble trouble, bool closed);

// The file behind a descriptor.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

// Opens the region for reading and writing; -1: see trouble. A missing region is made complete
// without a name and linked in, so no process ever sees a partial one. If another process links its
// own first, that one is used.
int OpenRegion(const Limits& limits, FileIdentity* identity, Trouble* trouble);

// The reason from errno, for a file that exists and did not open.
Trouble WhyNotOpened();

// Opens the same file again, as a new open description; -1: it is gone, or another file is in its
// place (ESTALE).
int OpenAgain(const char* path, const FileIdentity& identity);

// Maps the region. The mapping stays when the descriptor is closed. Null: no room.
Region* MapRegion(int file);

// Fills a new region from limits.
void MakeRegionOf(const Limits& limits, Region* region);

}  // namespace tessera::limiter
