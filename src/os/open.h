// SPDX-License-Identifier: Apache-2.0
// Opens regular files, and nothing else. Opening a device may do something (a watchdog reboots the
// machine), opening a pipe wakes whoever writes to it, and a container may put either in a file's
// place. So what is there is looked at before it is opened, and what was looked at is what is
// opened. Nothing waits. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace tessera::os {

enum class Links : uint8_t { kFollowed, kRefused };

// `access`: O_RDONLY, O_WRONLY or O_RDWR, with O_APPEND or O_TRUNC where that is wanted. kNotFound
// when nothing is there, kIo when it is no regular file.
Result<Fd> OpenFile(const std::string& path, int access, Links links = Links::kFollowed);
// One name in a directory that somebody else writes in: no link is followed, and nothing outside of
// the directory is reached. `called`: as messages name it.
Result<Fd> OpenFileIn(const Fd& directory, const std::string& name, int access,
                      const std::string& called);
// Likewise a directory, to be read.
Result<Fd> OpenDirectoryIn(const Fd& directory, const std::string& name, const std::string& called);

}  // namespace tessera::os
