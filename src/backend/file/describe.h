// SPDX-License-Identifier: Apache-2.0
// Describes a device made of files, by stat and sysfs. It opens no file, because opening a device
// can change it: a modem hangs up, a watchdog starts. Caches nothing. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/file/group.h"
#include "device/device.h"
#include "os/files.h"

namespace tessera::file {

// "character device", "directory", ...
std::string_view TypeName(os::FileInfo::Type type);

// The path after all symbolic links, as the host sees it. The path itself if it leads nowhere.
std::string Resolve(const os::Root& root, const std::string& path);

// A match, with what its links and sysfs say.
Match Known(const os::Root& root, std::string file);

// The error for a directory that is a device and has no node.
Error NoNodeBelow(const std::string& directory);

// Where a file appears in the container. A configured path names the file itself if the pattern has
// no wildcard and it does not end in "/"; otherwise a directory, in which the file keeps the part
// of its path that the pattern leaves open.
std::string ContainerPath(const FileConfig::Path& path, const std::string& file);

// The device that these files make. The container gets the targets of symbolic links under the
// links' names, so a stable name such as /dev/serial/by-id/... stays stable inside. A directory
// that is not mounted stands for all device nodes below it (directory_nodes.h). An error of a file
// becomes the device's defect.
Device Describe(const os::Root& root, const std::string& resource, const FileConfig::Group& group,
                const Members& members);

}  // namespace tessera::file
