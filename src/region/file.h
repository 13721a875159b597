// SPDX-License-Identifier: Apache-2.0
// Regions as files on the node. They lie in directories that containers write in, so whatever is
// there may be a trap: a link, a pipe, a file without end, a million names. Nothing is mapped,
// nothing is followed, nothing waits. Any thread.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "os/fd.h"
#include "region/region.h"

namespace tessera::region {

// One that is open, and stays the same file whatever happens to its name.
class File {
 public:
  // Of the container's directory NAME below `containers`: the file `wanted`, else the first by name
  // that ends in ".cache". kNotFound where there is neither, kBadRegion where it is no file.
  static Result<File> Open(const std::string& containers, const std::string& name,
                           const std::string& wanted);

  // As it is now.
  Result<Region> Read() const;
  // Whether the process of the slot lives; nothing where the kernel does not say, or the library is
  // none that has locks.
  std::optional<bool> IsAlive(int slot) const;

  // In its directory, in characters that a terminal may be shown.
  const std::string& name() const { return name_; }

 private:
  File(os::Fd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  os::Fd fd_;
  std::string name_;
};

}  // namespace tessera::region
