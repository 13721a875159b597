// SPDX-License-Identifier: Apache-2.0
// The region's file: found, judged and, if there is none, made.
#pragma once

#include <cstdint>

#include "limiter/limits/limits.h"

namespace tessera::limiter {

// Why this process does not share the container's accounting.
enum class Trouble : uint8_t {
  kNone,
  kNoPath,       // nothing names a region
  kNoLimits,     // there is none, and this process does not know with what limits to make one
  kSecure,       // a program with another user's rights opens nothing that its caller laid out
  kUnreachable,  // it neither opens nor can be made here
  kReadOnly,     // it may be read only
  kForeign,      // it is something else
  kTruncated,    // it is shorter than a region
  kOlder,        // HAMi-core's own, without our part
  kOtherVersion,
  kFull,      // all slots are taken by live processes
  kNoRoom,    // this process may open no file, or write none or map nothing that large
  kFullDisk,  // its file system has no room for the whole of it
};

// What happened and what to do next, for people.
const char* Meaning(Trouble trouble);

// Whether memory is denied then, which it always is where the policy is closed (Limits::closed).
// Otherwise this process keeps its limits alone, if it has any: what others of the container hold
// is not counted.
bool Denies(Trouble trouble, bool closed);

// Which file a descriptor is of.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

// The region, open for reading and writing; -1: see trouble. One that is not there is made complete
// without a name and linked in, so that nobody ever sees half of one; if another process was first,
// its is taken.
int OpenRegion(const Limits& limits, FileIdentity* identity, Trouble* trouble);

// Why a file that is there did not open, by errno.
Trouble WhyNotOpened();

// The same file, opened another time; -1: it is not there any more, or another one is (ESTALE).
int OpenAgain(const char* path, const FileIdentity& identity);

// It stays until it is unmapped, whatever becomes of the descriptor. Null: there is no room.
Region* MapRegion(int file);

// What a new region of these limits says.
void MakeRegionOf(const Limits& limits, Region* region);

}  // namespace tessera::limiter
