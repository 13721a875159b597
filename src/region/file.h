// SPDX-License-Identifier: Apache-2.0
// Regions as files on the node. Containers write in their directories, so an entry may be a trap: a
// link, a pipe, an endless file, a million names. So this code maps no file, follows no link and
// never waits for a container. Any thread.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "os/fd.h"
#include "region/region.h"

namespace tessera::region {

// An open region. It stays the same file even if its name changes.
class File {
 public:
  // Opens the region in the container's directory NAME below `containers`. It is the file `wanted`,
  // otherwise the first name that ends in ".cache". Fails with kNotFound if there is neither, and
  // with kBadRegion if it is no regular file.
  static Result<File> Open(const std::string& containers, const std::string& name,
                           const std::string& wanted);

  // Its current content.
  Result<Region> Read() const;
  // True if the process of the slot is alive. Nothing if the kernel does not say. Only Tessera's
  // library takes the locks that this tests.
  std::optional<bool> IsAlive(int slot) const;

  // Its name in the directory, safe to print on a terminal.
  const std::string& name() const { return name_; }

 private:
  File(os::Fd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  os::Fd fd_;
  std::string name_;
};

}  // namespace tessera::region
