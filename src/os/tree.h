// SPDX-License-Identifier: Apache-2.0
// Measures and empties directories that others have filled, with any names, modes, owners and
// depth. Only directories are opened, and no link is followed. RemoveTree (files.h) removes a whole
// tree. Any thread. May wait for disks.
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

// Opens a directory, but no link to one, for reading. If it is unreadable, it first gets `mode` and
// loses its access list, where permitted, because its owner may have removed the right. On failure
// not valid(); see errno.
Fd OpenDirectory(const std::string& path, mode_t mode);

struct TreeBounds {
  size_t entries = SIZE_MAX;
  int depth = 8;  // of directories below the top
  Steady until = Steady::max();
};

// The disk space of a file.
uint64_t BytesOf(const struct stat& info);

struct TreeSize {
  uint64_t bytes = 0;  // disk space of the entries below the top
  // Disk space of the top directory itself. Removing its entries does not free it.
  uint64_t own = 0;
  size_t entries = 0;
  // An error if the size may be incomplete: a bound was reached, or a directory is unreadable.
  Status whole{};
};
TreeSize MeasureTree(const std::string& path, const TreeBounds& bounds);

// Removes all entries except `keep`, and continues past entries that cannot be removed. kTimedOut
// if there are too many, or another process adds them as fast.
Status EmptyDirectory(const std::string& path, const std::set<std::string>& keep, Steady until);

}  // namespace tessera::os
