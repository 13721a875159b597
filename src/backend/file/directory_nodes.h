// SPDX-License-Identifier: Apache-2.0
// The device nodes below a directory such as /dev/snd. Opens and caches no file. Any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "os/files.h"

namespace tessera::file {

inline constexpr size_t kMaxDirectoryNodes = 256;
inline constexpr size_t kMaxDirectoryDepth = 4;  // of directories below the named one

struct DirectoryNodes {
  struct Node {
    std::string name;  // its path below the directory: "by-path/pci-0000:00:1f.3"
    std::string host;  // its path on the host, after links
    os::FileInfo info;
  };
  std::vector<Node> nodes;               // in order of their names
  std::vector<std::string> directories;  // directories searched; the named one first
};

// Lists the nodes. A symbolic link counts if it leads to a node below the same directory; no other
// link is followed. kInvalid for more nodes or levels than these limits, and for /dev itself.
Result<DirectoryNodes> NodesBelow(const os::Root& root, const std::string& directory);

}  // namespace tessera::file
