// SPDX-License-Identifier: Apache-2.0
// Regions as files on the node. Containers write in their directories, so an entry may be a trap: a
// link, a pipe, an endless file, a million names. So this code maps no file, follows no link and
// never waits for a container. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"
#include "region/region.h"

namespace tessera::region {

// The name of a file or directory, safe to print on a terminal and in a metric: letters, digits,
// '-', '.' and '_' stay, others become '?'.
std::string PrintableName(std::string_view name);

enum class Access : uint8_t { kRead, kWrite };

// An open region. It stays the same file even if its name changes.
class File {
 public:
  // Opens the region in the container's directory NAME below `containers`. It is the file `wanted`,
  // otherwise the first name that ends in ".cache". Fails with kNotFound if there is neither, and
  // with kBadRegion if it is no regular file.
  static Result<File> Open(const std::string& containers, const std::string& name,
                           const std::string& wanted, Access access = Access::kRead);

  // As Open, by the path of the container's directory.
  static Result<File> OpenIn(const std::string& directory, const std::string& wanted,
                             Access access = Access::kRead);

  // Its current content.
  Result<Region> Read() const;
  // Writes the monitor's words in place, of a file that was opened for writing. The container can
  // block it: while a container writes a file, the kernel lets no other process write it.
  Status Write(const MonitorWords& words) const;
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
