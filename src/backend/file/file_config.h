// SPDX-License-Identifier: Apache-2.0
// What the configuration says about a resource made of device files. Plain data.
#pragma once

#include <string>
#include <vector>

namespace tessera {

struct FileConfig {
  // One path or glob pattern of a device's files, and how they reach the container.
  struct Path {
    std::string pattern;              // "/dev/ttyUSB*"
    std::string container_path = {};  // empty: the same path; else see ContainerPath
    std::string permissions = "rw";   // of device nodes
    bool mount = false;               // a regular file or directory: bind-mounted instead
    bool read_only = true;            // of mounts
    bool optional = false;            // a group is complete without it
    bool operator==(const Path&) const = default;
  };
  // Every match of one pattern is a device of its own; with several paths in a group, those matches
  // that belong together are one device (group.h says which).
  struct Group {
    std::vector<Path> paths;
    bool operator==(const Group&) const = default;
  };
  std::vector<Group> groups;
  bool operator==(const FileConfig&) const = default;
};

}  // namespace tessera
