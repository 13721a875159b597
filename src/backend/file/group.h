// SPDX-License-Identifier: Apache-2.0
// Which files make one device. Pure; plain data; any thread.
#pragma once

#include <string>
#include <vector>

#include "backend/file/file_config.h"

namespace tessera::file {

// A file that matched a path of the configuration, with what its links and sysfs say.
struct Match {
  std::string file;
  std::string target = {};    // the file that its links lead to; or empty
  std::string hardware = {};  // the sysfs directory of its hardware; or empty
};

// One file of a device and the path of the configuration that it matched.
struct Member {
  size_t path = 0;  // index into Group::paths
  std::string file;
  bool operator==(const Member&) const = default;
};

// The files of one device. The first is the one that names it.
using Members = std::vector<Member>;

struct Combined {
  std::vector<Members> devices;
  std::vector<std::string> unpaired;  // files of none, with why: "/dev/a1: /dev/control is missing"
};

// The devices of a group, given what each of its paths matched, in natural order.
//
// - A path without wildcards belongs to every device of the group.
// - Matches of paths with wildcards belong together as PairUp says (pairing.h).
// - A device is there when each path that is not optional has a file for it, and so far as it has
//   any file. A group whose wildcards are all optional is one device, with the first match of each.
// - The device is named after its first path with a wildcard that is not optional; without one,
//   after the first path that has a file.
Combined Combine(const FileConfig::Group& group, const std::vector<std::vector<Match>>& matches);

}  // namespace tessera::file
