// SPDX-License-Identifier: Apache-2.0
// Opens regular files only. Opening a device may act (a watchdog reboots the machine), opening a
// pipe wakes its writer, and a container may put either in a file's place. So the type is checked
// before the open, and the checked file is the one that is opened. No call blocks. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace tessera::os {

enum class Links : uint8_t { kFollowed, kRefused };

// `access` is O_RDONLY, O_WRONLY or O_RDWR, optionally with O_APPEND or O_TRUNC. kNotFound if the
// path does not exist, kIo if it is no regular file.
Result<Fd> OpenFile(const std::string& path, int access, Links links = Links::kFollowed);
// Opens a name in a directory that others write to. No link is followed, and no path leaves the
// directory. `called` is its name in messages.
Result<Fd> OpenFileIn(const Fd& directory, const std::string& name, int access,
                      const std::string& called);
// As OpenFileIn, for reading a directory.
Result<Fd> OpenDirectoryIn(const Fd& directory, const std::string& name, const std::string& called);

}  // namespace tessera::os
