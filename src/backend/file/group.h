// SPDX-License-Identifier: Apache-2.0
// Which files make one device. Pure; plain data; any thread.
#pragma once

#include <string>
#include <vector>

#include "backend/file/file_config.h"

namespace tessera::file {

// One file of a device and the path of the configuration that it matched.
struct Member {
  size_t path = 0;  // index into Group::paths
  std::string file;
  bool operator==(const Member&) const = default;
};

// The files of one device. The first is the one that names it.
using Members = std::vector<Member>;

// The devices of a group, given what each of its paths matched, in natural order.
//
// - A path without wildcards belongs to every device of the group.
// - Of paths with wildcards, those matches belong together whose `*` stands for the same text:
//   /dev/ttyUSB* and /dev/ttyUSB*_ctl give ttyUSB0 with ttyUSB0_ctl, whatever else is plugged.
//   Where a pattern has several wildcards, or another than `*`, the n-th matches belong together.
// - A device is there when each path that is not optional has a file for it, and so far as it has
// any
//   file. A group whose wildcards are all optional is one device, with the first match of each.
// - The device is named after its first path with a wildcard that is not optional; without one,
// after
//   the first path that has a file.
std::vector<Members> Combine(const FileConfig::Group& group,
                             const std::vector<std::vector<std::string>>& matches);

}  // namespace tessera::file
