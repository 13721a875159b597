// SPDX-License-Identifier: Apache-2.0
// The simulators of nodes that are files. Lines are devices, as hardware_api.h says. Functions
// throw std::exception. Any thread, but only one for each directory.
#pragma once

#include <string>
#include <vector>

#include "demo/answer.h"

namespace tessera::demo {

using Words = std::vector<std::string>;

struct Simulator {
  const char* key;  // in descriptions
  // Makes the files of the node with this name, or with `only_ask` only tells its devices.
  Lines (*make)(const std::string& directory, const std::string& name, bool only_ask);
  // Makes changes, one after the other, or with `only_ask` only says which devices they touch.
  Lines (*change)(const std::string& directory, const Words& words, bool only_ask);
};

extern const Simulator kAmd;     // test/amd
extern const Simulator kRdma;    // test/rdma
extern const Simulator kAscend;  // test/ascend

// Adds those lines that are not there.
void Unite(Lines& lines, const Lines& more);

}  // namespace tessera::demo
