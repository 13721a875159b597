// SPDX-License-Identifier: Apache-2.0
// Directories that somebody else has filled, with any names, modes, owners and depth. Nothing in
// them is opened but directories, and no link is followed. RemoveTree (files.h) takes them away
// whole. Any thread; it waits for disks.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "os/fd.h"

namespace tessera::os {

// The directory, no link to one, to be read. One that may not be read gets `mode` before that, and
// loses its access list, if that may be done: who fills it may have taken the right away. Not
// valid(): see errno.
Fd OpenDirectory(const std::string& path, mode_t mode);

struct TreeBounds {
  size_t entries = SIZE_MAX;
  int depth = 8;  // of directories below the first
  Steady until = Steady::max();
};

// That a file takes of the disk.
uint64_t BytesOf(const struct stat& info);

struct TreeSize {
  uint64_t bytes = 0;  // of the disk, by what is in it
  uint64_t own = 0;    // the same, by its own names; those that are removed give nothing back
  size_t entries = 0;
  // Why there may be more: what the bounds leave out, or a directory that may not be looked into.
  Status whole{};
};
TreeSize MeasureTree(const std::string& path, const TreeBounds& bounds);

// Removes all but these names from a directory, and goes on with the rest where something cannot be
// removed. kTimedOut: there is too much, or somebody fills it as quickly.
Status EmptyDirectory(const std::string& path, const std::set<std::string>& keep, Steady until);

}  // namespace tessera::os
