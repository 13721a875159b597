// SPDX-License-Identifier: Apache-2.0
// What is known about a device made of files: stat and sysfs tell. Nothing is ever opened, for
// opening a device can change it (a modem hangs up, a watchdog starts). Any thread; nothing is
// cached.
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

// The path that a path leads to once every symbolic link is followed, as the host sees it; the path
// itself when it leads nowhere.
std::string Resolve(const os::Root& root, const std::string& path);

// A match with what links and sysfs tell of it.
Match Known(const os::Root& root, std::string file);

// The trouble of a directory, named as a device, that is empty.
Error NoNodeBelow(const std::string& directory);

// Where a file appears in the container. A configured path names the file itself if the pattern has
// no wildcard and it does not end in "/"; otherwise a directory, in which the file keeps the part
// of its path that the pattern leaves open.
std::string ContainerPath(const FileConfig::Path& path, const std::string& file);

// The device that these files make. The container gets the files that symbolic links lead to, under
// the links' names, so that a stable name such as /dev/serial/by-id/... stays stable inside. A
// directory that is not mounted stands for all device nodes below it (directory_nodes.h). What is
// wrong with a file becomes the device's defect.
Device Describe(const os::Root& root, const std::string& resource, const FileConfig::Group& group,
                const Members& members);

}  // namespace tessera::file
